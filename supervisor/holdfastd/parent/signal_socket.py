"""The parent's signals. Handlers do nothing: the interpreter writes each number to a socket, and the loop reads it.

One exception: SIGUSR1 first dumps the stacks of the parent, from inside the handler, as one that hangs must show them.
Children keep that until they are ready to show their own; it ends none of them.

Reaping, logging or deciding inside a handler has deadlocked others; here it happens between two turns of the loop.
"""

from __future__ import annotations

import faulthandler
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

STDERR = 2

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


class Signals:
    """What arrived since it was last looked at; `descriptor` is readable when something did."""

    def __init__(self) -> None:
        self._arrivals, self._wake = socket.socketpair()
        self._arrivals.setblocking(False)
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (*HANDLED, signal.SIGUSR1):
            if not (number is signal.SIGHUP and is_ignored(number)):
                signal.signal(number, _wake_only)
        faulthandler.register(signal.SIGUSR1, STDERR, chain=True)

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
        """Back to a process without handlers of its own."""
        signal.set_wakeup_fd(-1)
        default()
        self._arrivals.close()
        self._wake.close()


def is_ignored(number: signal.Signals) -> bool:
    """True where whoever started this process wants the signal ignored, as nohup does with SIGHUP."""
    return signal.getsignal(number) is signal.SIG_IGN


def default() -> None:
    """Default dispositions for all that the parent handles."""
    for number in HANDLED:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def blocked() -> Generator[None]:
    """No signal is delivered inside: none can reach a forked child while it still has the parent's handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wake_only(_number: int, _frame: FrameType | None) -> None:
    """The interpreter has written the number to the wake-up socket already."""
