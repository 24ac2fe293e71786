"""The first steps of a forked child, until it is a process of its own: nothing of the parent's is left in it but pages.

Runs with all signals blocked; what arrived meanwhile acts on default dispositions once they are unblocked.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from holdfast.exits import ChildExit
from holdfastd.parent import prctl, signal_socket
from holdfastd.parent.process_title import set_title

INCARNATION_VARIABLE = "HOLDFAST_INCARNATION"

Body = Callable[[socket.socket], int]


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """Who is to be born: its name, short and long, what it runs, what it keeps beside 0, 1, 2 and its channel."""

    incarnation: str
    name: str
    title: str
    body: Body
    keep: tuple[int, ...] = ()


def live(birth: ChildSetup, channel: socket.socket, parent: int) -> int:
    """Become the child and run its body; the exit status. The caller leaves the process with it, whatever happens."""
    try:
        _become(birth, channel, parent)
        return int(birth.body(channel))
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ChildExit.BUG)
    except BaseException:  # the border of a process: whatever it is, it is told and ends here
        traceback.print_exc()
        return int(ChildExit.BUG)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


def _become(birth: ChildSetup, channel: socket.socket, parent: int) -> None:
    signal.set_wakeup_fd(-1)
    signal_socket.default()
    os.setpgid(0, 0)
    prctl.die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:  # it died before the kernel was told
        os._exit(ChildExit.ORPHANED)
    prctl.set_name(birth.name)
    set_title(f"{birth.title} {birth.incarnation}")
    _close_foreign({0, 1, 2, channel.fileno(), *birth.keep})
    _read_nothing()
    # Written, never read: processes that this child starts carry its name, by which the parent finds what it left
    # behind, and no descendant may speak to systemd in the parent's place.
    os.environ[INCARNATION_VARIABLE] = birth.incarnation
    os.environ.pop("NOTIFY_SOCKET", None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _close_foreign(keep: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are wanted, not paths
        if int(name) not in keep:
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
                os.close(int(name))


def _read_nothing() -> None:
    """A child in the background that read the terminal would be stopped by it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def execute(argv: tuple[str, ...], inherit: tuple[int, ...], incarnation: str) -> NoReturn:
    """Replace this process by a program with default signals and a bare environment; never returns but by raising.

    Its files are for its owner alone, whatever umask the service has.
    """
    os.umask(0o077)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    for descriptor in inherit:
        os.set_inheritable(descriptor, True)
    environment = {"PATH": os.defpath, "LC_ALL": "C", INCARNATION_VARIABLE: incarnation}
    os.execve(Path(argv[0]), argv, environment)  # noqa: S606 - no shell is wanted
