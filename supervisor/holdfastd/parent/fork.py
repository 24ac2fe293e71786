"""Forks one child with a channel to the parent and a pidfd that becomes readable at its death."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from holdfastd.parent import child_setup, received_signals
from holdfastd.parent.child_setup import ChildSetup
from holdfastd.parent.fork_hazards import thread_count
from holdfastd.parent.loader import ForkRequest, LoaderClient


@dataclass(frozen=True, slots=True)
class Kernel:
    """The two system calls that may fail for lack of resources. Tests replace them."""

    fork: Callable[[], int] = os.fork
    pidfd: Callable[[int], int] = os.pidfd_open


LINUX = Kernel()


@dataclass(frozen=True, slots=True)
class ForkedChild:
    """A child that was just forked. `pidfd` is None if the kernel could not give one."""

    pid: int
    pidfd: int | None
    channel: socket.socket


def fork(setup: ChildSetup, kernel: Kernel = LINUX) -> ForkedChild:
    """Fork a child that runs `setup`. If it raises OSError (EAGAIN, ENOMEM, EMFILE), it has changed nothing."""
    assert thread_count() == 1, "a thread in the parent would be half a thread in the child"
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    with theirs, received_signals.blocked():
        try:
            pid = kernel.fork()
        except OSError:
            ours.close()
            raise
        if pid == 0:
            child_setup.run_and_leave(setup, theirs, parent)
    return _adopted(pid, ours, kernel)


def fork_by_loader(
    request: ForkRequest, loader: LoaderClient, is_known: Callable[[int], object], kernel: Kernel = LINUX
) -> ForkedChild:
    """Have the loader fork this worker; the worker becomes a child of this process. If it raises OSError, no worker
    lives on.

    `is_known`: true for the pid of a child that this process already had.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            pid = loader.fork(request, theirs)
            if is_known(pid) or not _is_child(pid):  # the loader runs user code, and the parent will signal this pid
                raise ConnectionError(f"the loader reported process {pid}, which is no new child of this process")
            return _adopted(pid, ours, kernel)
        except OSError:
            ours.close()  # if a worker was forked all the same, it ends now, because its channel is closed
            raise


def _adopted(pid: int, channel: socket.socket, kernel: Kernel) -> ForkedChild:
    """Make the child the leader of a process group, and open its pidfd. The child sets its group, too. So the group
    exists before the parent sends it a signal, whichever of the two is faster."""
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    try:
        pidfd = kernel.pidfd(pid)
    except OSError:  # no descriptor left, or an old kernel: then SIGCHLD reports the child's death
        pidfd = None
    return ForkedChild(pid, pidfd, channel)


def _is_child(pid: int) -> bool:
    """True for a child of this process, alive or not yet reaped."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:  # also for pid 0: a signal to 0 would reach this process's own group
        return False
    return True
