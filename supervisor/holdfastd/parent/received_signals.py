"""Keeps the signals that the parent receives until its loop takes them. `holdfastd/core/decisions.py` defines their
effects.

The signal handlers do nothing. The interpreter writes the signal's number to a socket, and this wakes the loop.

SIGUSR1 is the exception: its handler writes the parent's stacks at once, so that a parent that hangs shows them, too.
A child keeps this handler until it installs its own, so SIGUSR1 does not end a child.

To reap, log or decide inside a signal handler can deadlock, so the parent does this between two turns of its loop.
"""

from __future__ import annotations

import faulthandler
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from holdfast_config.standard_error import STREAM

HANDLED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGUSR2,
    signal.SIGCHLD,
)


class ReceivedSignals:
    """The signals that have arrived since the last `take`. `descriptor` is readable when there are any."""

    def __init__(self) -> None:
        self._arrivals, self._wake = socket.socketpair()
        self._arrivals.setblocking(False)
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (*HANDLED, signal.SIGUSR1):
            if not (number is signal.SIGHUP and is_ignored(number)):
                signal.signal(number, _wake_only)
        faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), chain=True)

    @property
    def descriptor(self) -> int:
        return self._arrivals.fileno()

    def take(self) -> list[int]:
        """Take the numbers of the signals that have arrived, in order."""
        try:
            return list(self._arrivals.recv(4096))
        except BlockingIOError:
            return []

    def close(self) -> None:
        """Restore the default effects of these signals."""
        signal.set_wakeup_fd(-1)
        default()
        self._arrivals.close()
        self._wake.close()


def is_ignored(number: signal.Signals) -> bool:
    """True if the process was started with this signal ignored, for example SIGHUP under nohup."""
    return signal.getsignal(number) is signal.SIG_IGN


def default() -> None:
    """Set the default effect of all signals that the parent handles."""
    for number in HANDLED:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def blocked() -> Generator[None]:
    """A context manager that blocks all signals. No signal may reach a forked child while it has the parent's
    handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wake_only(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the interpreter has written the number to the wake-up socket already."""
