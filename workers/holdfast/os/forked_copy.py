"""Makes a process that a handler forks a process of its own: what it gets and does concerns the worker no more.

A fork copies the worker's signal handlers and its wake-up descriptor. A signal to the copy would be written to the
event loop of the worker, which would drain. Signals are blocked from before the fork until the copy has given that up:
`Process.start()` may be followed by `terminate()` at once.

A copy that comes back from the handler would go on as a second worker with the same claims and connections. It ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from holdfast.exits import ChildExit
from holdfast_config.error_text import traceback_text

STACK_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)  # those on which a worker writes its stacks
_ASYNCIO = "asyncio.unix_events"  # its handler of all signals that the loop hears
_OURS = ("holdfast.", "holdfastd.")

copied: list[int] = []  # the pid, in a process that a handler has forked
_told: list[Callable[[], None]] = []


class _Forking(threading.local):
    """What the thread that forks has kept for both sides."""

    mask: Any = ()
    loop: asyncio.AbstractEventLoop | None = None


_forking = _Forking()
_registered: list[int] = []


def leave_worker_at_fork() -> None:
    """From now on processes that this one forks leave it behind. Programs that are executed need nothing of it."""
    if os.getpid() not in _registered:
        _registered.append(os.getpid())
        os.register_at_fork(before=_before, after_in_parent=_restore, after_in_child=_leave)


@contextmanager
def told(become_copy: Callable[[], None]) -> Generator[None]:
    """Within the block `become_copy` is called in each process that this one forks."""
    _told.append(become_copy)
    try:
        yield
    finally:
        _told.remove(become_copy)


def end_copy(error: BaseException | None = None) -> NoReturn:
    """End a copy that came back from the handler, as Python would: 0, the status of its SystemExit, or 1."""
    status = 0
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        status = 1
        with contextlib.suppress(Exception):
            sys.stderr.write(traceback_text(error))
    _end(status)


def _before() -> None:
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        _forking.loop = asyncio.get_running_loop()
    except RuntimeError:  # in a thread
        _forking.loop = None


def _restore() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _leave() -> None:
    copied[:] = [os.getpid()]
    signal.set_wakeup_fd(-1)
    for number in STACK_SIGNALS:
        faulthandler.unregister(number)
    for number in signal.valid_signals():
        if _is_of_worker(signal.getsignal(number)):
            signal.signal(number, _usual(number))
    for become_copy in _told:
        become_copy()
    _told.clear()
    if _forking.loop is not None:  # it was forked by a coroutine: it ends as soon as that waits for anything
        _forking.loop.call_soon(_end, ChildExit.BUG)
    _restore()


def _is_of_worker(handler: object) -> bool:
    """True for the handlers of event loops, and for our own; those of the user's code stay."""
    function = getattr(handler, "func", handler)
    owner = getattr(function, "__self__", None)
    module = str(getattr(function, "__module__", ""))
    return (
        isinstance(owner, asyncio.AbstractEventLoop | asyncio.Runner) or module == _ASYNCIO or module.startswith(_OURS)
    )


def _usual(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


def _end(status: int) -> NoReturn:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
