"""Keeps the signals that the parent receives until its loop takes them. Their effects: `holdfastd/core/decisions.py`.

The handlers do nothing: the interpreter writes the number of a signal to a socket, which wakes the loop.

One exception: SIGUSR1 first dumps the stacks of the parent, inside the handler, because a parent that hangs must show
them too. Children keep that handler until they install their own; it ends none of them.

Reaping, logging or deciding inside a handler can deadlock; here they happen between two turns of the loop.
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
    """The signals that arrived since the last `take`; `descriptor` is readable when there are any."""

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
        """The numbers that arrived, in order."""
        try:
            return list(self._arrivals.recv(4096))
        except BlockingIOError:
            return []

    def close(self) -> None:
        """Restore default dispositions."""
        signal.set_wakeup_fd(-1)
        default()
        self._arrivals.close()
        self._wake.close()


def is_ignored(number: signal.Signals) -> bool:
    """True if the process was started with this signal ignored, for example SIGHUP under nohup."""
    return signal.getsignal(number) is signal.SIG_IGN


def default() -> None:
    """Set default dispositions for all signals that the parent handles."""
    for number in HANDLED:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def blocked() -> Generator[None]:
    """Block all signals: no signal may reach a forked child while it still has the parent's handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wake_only(_number: int, _frame: FrameType | None) -> None:
    """The interpreter has written the number to the wake-up socket already."""
