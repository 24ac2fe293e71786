"""Turns a forked copy of the parent into a child process: it sets signals, descriptors, name and environment.

All signals are blocked during the setup. A signal that arrives in this time has its default effect after the setup.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from holdfast.exits import ChildExit
from holdfast_config.error_text import traceback_text
from holdfast_config.logging import tell_left_out
from holdfast_config.standard_error import STREAM, set_sink
from holdfastd.parent import prctl, received_signals

# Sets the command line that `ps` shows of a child, by overwriting it in place.
#
# The title contains the incarnation. So it also marks processes that the child forks without exec. Their environment in
# /proc is still the one with which the parent was started, but their command line is a copy of the child's.

_ARG_START = 48 - 3  # the index of arg_start in /proc/PID/stat, counted from the first field after the name
_STAT = Path("/proc/self/stat")


def set_title(title: str) -> bool:
    """Show `title`, cut to the available bytes. Returns False and changes nothing if the kernel does not say where in
    memory the command line is."""
    try:
        fields = _STAT.read_text("utf-8", "replace").rpartition(")")[2].split()
        start, end = map(int, fields[_ARG_START : _ARG_START + 2])
    except (OSError, ValueError):
        return False
    room = end - start
    if room < 2:
        return False
    ctypes.memmove(start, title.encode()[: room - 1].ljust(room, b"\0"), room)
    return True


INCARNATION_VARIABLE = "HOLDFAST_INCARNATION"

Body = Callable[[socket.socket], int]


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """A child to be forked. `name`: the process name; `title`: the command line that `ps` shows. `body`: the function
    that it runs; `keep`: descriptors that it keeps open beside 0, 1, 2, its log and its channel."""

    incarnation: str
    name: str
    title: str
    body: Body
    keep: tuple[int, ...] = ()


def run_child(setup: ChildSetup, channel: socket.socket, parent: int) -> int:
    """Set up the process and run its body. Returns the exit status; the caller must end the process with it."""
    try:
        _set_up(setup, channel, parent)
        return int(setup.body(channel))
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ChildExit.BUG)
    except BaseException as error:  # the outermost frame of the process: every error is printed and ends here
        with contextlib.suppress(OSError):
            STREAM.write(traceback_text(error).encode("utf-8", "backslashreplace"))
        return int(ChildExit.BUG)
    finally:
        with contextlib.suppress(Exception):
            tell_left_out(is_end=True)
            sys.stdout.flush()
            sys.stderr.flush()


def run_and_leave(setup: ChildSetup, channel: socket.socket, parent: int) -> NoReturn:
    """Run the child, then end the process. So the child never returns into code of the process that forked it."""
    code = int(ChildExit.BUG)
    try:
        code = run_child(setup, channel, parent)
    finally:
        os._exit(code)


def _set_up(setup: ChildSetup, channel: socket.socket, parent: int) -> None:
    signal.set_wakeup_fd(-1)
    set_sink(None)
    received_signals.default()
    os.setpgid(0, 0)
    prctl.die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:  # the parent died before the kernel knew of the request above
        os._exit(ChildExit.ORPHANED)
    prctl.set_name(setup.name)
    set_title(f"{setup.title} {setup.incarnation}")
    _close_foreign({0, 1, 2, STREAM.descriptor(), channel.fileno(), *setup.keep})
    _read_nothing()
    # Processes that this child starts inherit the variable. By it the parent finds them after the child's death.
    # No descendant may send notifications to systemd.
    os.environ[INCARNATION_VARIABLE] = setup.incarnation
    os.environ.pop("NOTIFY_SOCKET", None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _close_foreign(keep: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are wanted, not paths
        if int(name) not in keep:
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
                os.close(int(name))


def _read_nothing() -> None:
    """Replace standard input by /dev/null: a background process that reads the terminal would be stopped."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def execute(argv: tuple[str, ...], inherit: tuple[int, ...], incarnation: str) -> NoReturn:
    """Replace this process by a program with default signals and a minimal environment; raises OSError if it cannot.

    Files that the program creates are readable by their owner only, whatever umask the service has.
    """
    os.umask(0o077)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    for descriptor in inherit:
        os.set_inheritable(descriptor, True)
    environment = {"PATH": os.defpath, "LC_ALL": "C", INCARNATION_VARIABLE: incarnation}
    os.execve(Path(argv[0]), argv, environment)  # noqa: S606 - no shell is wanted
