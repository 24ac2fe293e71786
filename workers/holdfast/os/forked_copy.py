"""Separates a process that a handler forks (the copy) from its worker: nothing that the copy gets or does reaches the
worker.

A fork copies the worker's signal handlers and its wake-up descriptor. A signal to the copy would be written to the
worker's event loop, and the worker would drain. So signals are blocked from before the fork until the copy has dropped
both: `terminate()` may come right after `Process.start()`.

A copy that returned from the handler would go on as a second worker with the same claims and connections. So the copy
ends there.

The copy has the worker's event loop and must not run it. A coroutine of the copy that waits for that loop ends the
copy, before any other callback runs. A thread of the copy that calls the loop ends the copy, too. The copy shares the
loop's epoll descriptor with the worker. So the copy replaces the descriptor by an empty one: it takes no event of the
worker and closes nothing there.

The separation is all or nothing: a copy that cannot separate itself ends. No method of the user's objects is called for
it.
"""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingModuleSource]  # it is built in
import asyncio
import contextlib
import faulthandler
import functools
import gc
import os
import select
import selectors
import signal
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NoReturn, cast

from holdfast.exits import ChildExit
from holdfast_config.error_text import is_error, shown, traceback_text
from holdfast_config.standard_error import STREAM

# Reads and sets the signal handlers of this process, which may be objects of the user's.
#
# `signal.getsignal` and `signal.signal` call methods of the handler that they find (for its class, number and text).
# These methods may be the user's code, which may raise or lie. The functions of `_signal` call no method of it. They
# have no public name.

handler_of = _signal.getsignal
set_handler = _signal.signal


STACK_SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)  # those on which a worker writes its stacks
_ASYNCIO = "asyncio.unix_events"  # its handler of all signals that the loop hears
_OURS = ("holdfast.", "holdfastd.")
_REPORTERS = ("asyncio.futures", "anyio._backends._asyncio")  # they report the end of a thread to a loop
_UNREACHABLE = (
    "a process that a handler has forked cannot use the event loop of its worker, and ends: let it pass its result to "
    "the handler (by a pipe, a queue or a pool), and use the event loop there"
)

copied: list[int] = []  # the pid, in a process that a handler has forked
_told: list[tuple[Callable[[], None], asyncio.AbstractEventLoop]] = []


class _Forking(threading.local):
    """State that the forking thread keeps for both sides of the fork."""

    mask: Any = None
    loop: asyncio.AbstractEventLoop | None = None


_forking = _Forking()
_registered: list[int] = []
_own_watches: list[select.epoll] = []  # kept, because a forgotten epoll object closes its descriptor


def leave_worker_at_fork() -> None:
    """From now on, forked copies of this process separate themselves from it. Executed programs need no separation."""
    if os.getpid() not in _registered:
        _registered.append(os.getpid())
        os.register_at_fork(before=_before, after_in_parent=_restore, after_in_child=_leave)


@contextmanager
def told(become_copy: Callable[[], None], loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """While the block runs, a process forked from this one calls `become_copy`, and cannot use `loop`."""
    member = (become_copy, loop)
    _told.append(member)
    try:
        yield
    finally:
        _told.remove(member)


def end_copy(error: BaseException | None = None) -> NoReturn:
    """End a copy whose handler has returned, with the exit status that Python would use: 0, the status of its
    SystemExit, or 1."""
    status = 1
    try:
        if error is None:
            status = 0
        elif is_error(error, SystemExit):
            status = _status_of(error)
        else:
            sys.stderr.write(traceback_text(error))
    except BaseException:  # the streams may be the user's
        _say(f"a process that a handler has forked ended by {shown(error)}")
    finally:
        _end(status)


def _status_of(error: BaseException) -> int:
    code = SystemExit.__dict__["code"].__get__(error)
    return int(code) if type(code) in (int, bool) else int(code is not None)


def _before() -> None:
    _forking.mask = None
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())  # handlers of pending signals run here, and may raise
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        _forking.loop = asyncio.get_running_loop()
    except RuntimeError:  # in a thread
        _forking.loop = None


def _restore() -> None:
    if _forking.mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _leave() -> None:
    copied[:] = [os.getpid()]
    try:
        _leave_worker()
    except BaseException as error:
        _say(f"a process that a handler has forked could not leave its worker, and ends: {shown(error)}")
        os._exit(ChildExit.BUG)
    finally:
        _restore()


def _leave_worker() -> None:
    for become_copy, loop in _told:
        become_copy()
        _leave_loop(loop)
    _told.clear()
    signal.set_wakeup_fd(-1)
    for number in STACK_SIGNALS:
        faulthandler.unregister(number)
    for number in signal.valid_signals():
        if _is_of_worker(handler_of(number)):
            set_handler(number, _usual(number))
    if _forking.loop is not None:  # a coroutine has forked: the copy ends as soon as it waits
        _end_first(_forking.loop)


def _is_of_worker(handler: Any) -> bool:
    """True for signal handlers of event loops and of Holdfast; handlers of the user's code stay. The type decides,
    because an object's own methods may be the user's code."""
    if type(handler) is functools.partial:
        handler = handler.func
    if type(handler) is types.MethodType:
        if issubclass(type(handler.__self__), (asyncio.AbstractEventLoop, asyncio.Runner)):
            return True
        handler = handler.__func__
    module = _module_of(handler)
    return module == _ASYNCIO or module.startswith(_OURS)


def _module_of(function: Any) -> str:
    """The name of the module that defines this function; empty for anything that is not a function."""
    if type(function) is not types.FunctionType:
        return ""
    around = cast("dict[str, object]", function.__globals__)
    name = dict[str, object].get(around, "__name__")
    if type(name) is not str or type(module := sys.modules.get(name)) is not types.ModuleType:
        return ""
    return name if module.__dict__ is around else ""


def _leave_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Keep the copy from reading, closing or notifying anything of the worker's event loop."""
    loop.call_soon_threadsafe = _end_teller  # type: ignore[method-assign]
    if (watch := _watch_of(loop)) is not None:
        os.close(watch)  # first, because there may be no other descriptor left
        own = select.epoll()
        _own_watches.append(own)
        if own.fileno() != watch:
            os.dup2(own.fileno(), watch, inheritable=False)


def _watch_of(loop: Any) -> int | None:
    """The epoll descriptor of the event loop; None if the loop uses none that forks share."""
    if not hasattr(select, "epoll"):
        return None
    if (ask := getattr(loop, "_get_backend_id", None)) is not None:  # uvloop
        return cast("int", ask())
    watch = getattr(loop, "_selector", None)
    return watch.fileno() if type(watch) is selectors.EpollSelector else None


def _end_first(loop: asyncio.AbstractEventLoop) -> None:
    """Have the copy end as soon as its event loop goes on, before any callback runs. The callbacks belong to the
    worker."""
    ending = loop.call_soon(_end, ChildExit.BUG)
    held = gc.get_referents(loop)
    for each in (*held, *gc.get_referents(*(one for one in held if type(one) is dict))):
        if type(each) is deque and each and each[-1] is ending:
            each.rotate(1)


def _end_teller(callback: object, *args: object, **_context: object) -> NoReturn:
    """End the copy. In the copy, this replaces `call_soon_threadsafe` of the loop, which is called when the handler's
    thread returns or other code asks the loop for something. Nobody runs the loop in the copy."""
    if type(callback) is types.MethodType:
        callback = callback.__func__
    if args and _module_of(callback) in _REPORTERS:
        last = args[-1]
        end_copy(last.exception() if type(last) is Future else cast("BaseException | None", last))
    _say(_UNREACHABLE)
    _end(ChildExit.BUG)


def _usual(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else int(signal.SIG_DFL)


def _end(status: int) -> NoReturn:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _say(words: str) -> None:
    with contextlib.suppress(BaseException):
        STREAM.write(f"{words}\n".encode())
