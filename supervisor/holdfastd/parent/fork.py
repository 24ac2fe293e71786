"""One fork: a channel, a child of its own, a pidfd that tells of its death."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from holdfast.exits import ChildExit
from holdfastd.parent import child_setup, signal_socket
from holdfastd.parent.child_setup import ChildSetup
from holdfastd.parent.fork_hazards import thread_count


@dataclass(frozen=True, slots=True)
class Kernel:
    """The two calls that may be refused for want of something."""

    fork: Callable[[], int] = os.fork
    pidfd: Callable[[int], int] = os.pidfd_open


LINUX = Kernel()


@dataclass(frozen=True, slots=True)
class ForkedChild:
    """A child that was just forked. `pidfd` is None where the kernel had none to give."""

    pid: int
    pidfd: int | None
    channel: socket.socket


def fork(birth: ChildSetup, kernel: Kernel = LINUX) -> ForkedChild:
    """Fork a child that runs `birth`. OSError (EAGAIN, ENOMEM, EMFILE) leaves everything as it was."""
    assert thread_count() == 1, "a thread in the parent would be half a thread in the child"
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    with theirs, signal_socket.blocked():
        try:
            pid = kernel.fork()
        except OSError:
            ours.close()
            raise
        if pid == 0:
            _be(birth, theirs, parent)
    _lead_group(pid)
    return ForkedChild(pid, _pidfd(pid, kernel), ours)


def _be(birth: ChildSetup, channel: socket.socket, parent: int) -> NoReturn:
    """The child never returns into the parent's stack."""
    code = int(ChildExit.BUG)
    try:
        code = child_setup.live(birth, channel, parent)
    finally:
        os._exit(code)


def _lead_group(pid: int) -> None:
    """The child does the same: whoever comes first, the group exists before anybody kills it."""
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)


def _pidfd(pid: int, kernel: Kernel) -> int | None:
    try:
        return kernel.pidfd(pid)
    except OSError:  # no descriptor left, or an old kernel: SIGCHLD tells of its death
        return None
