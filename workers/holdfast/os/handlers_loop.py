"""The event loop of a worker: nothing that handlers leave in the loop, or raise through it, ends or delays the worker.

Theory of operation. If an asyncio task or a callback raises SystemExit or KeyboardInterrupt, asyncio raises it out of
the event loop, to end the program. In a worker the exception concerns one handler. So the worker runs the loop on, and
everything else in the loop is unchanged. The asyncio task keeps the exception, and code that awaits the task gets it.
The run that owns the task is notified. If nobody has read the exception at the end of the handler, the run has failed.
An asyncio task without any reference may be garbage-collected before that. Then asyncio reports its exception.

The default executor of the loop (`asyncio.to_thread`) has few places, and a thread that does not end keeps its place.
So the loop knows the calls that run in the executor, and to which run of a handler each belongs. The executor gets one
more place for each call whose run is over. Without these places, running handlers would wait for one without end.

At the end of the program asyncio cancels all asyncio tasks that are left, and waits for them and for the threads of the
default executor. In a worker the handlers have ended by then. So the wait for asyncio tasks is short, and there is no
wait for threads.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import traceback
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar, cast

import anyio
import uvloop

from holdfast_config import library_log
from holdfast_config.error_text import is_error

T = TypeVar("T")

CLEAN_UP = 0.3  # seconds for the asyncio tasks that handlers have left behind, once they are cancelled

_OF_LOOP = (__file__, "uvloop", str(Path(asyncio.__file__).parent) + os.sep)  # files whose frames are the loop's

_log = library_log.get_logger("holdfast.worker")


PLACES = min(32, (os.cpu_count() or 1) + 4)  # of the default executor, as many as asyncio gives it
MORE_PLACES = 32  # at most, for threads that are left behind


class Owner(Protocol):
    """The run of a handler. The asyncio tasks that it starts belong to it."""

    def exiting(self, task: asyncio.Task[Any]) -> None:
        """Record that an asyncio task of this run ended with SystemExit or KeyboardInterrupt. The run goes on, because
        the handler may still await the task and catch the error."""

    def exited(self, error: BaseException) -> None:
        """Record that an asyncio task of this run ended with SystemExit or KeyboardInterrupt and was garbage-collected,
        and that no code had awaited it."""


class OwnedTask(asyncio.Task[Any]):
    """An asyncio task with an `owner`, which its creator sets. Asyncio tasks that an OwnedTask starts get the same
    owner."""

    __slots__ = ("owner",)  # because one is made for each delivery

    owner: Owner | None


class ThreadCall:
    """A call in the default executor. `owner`: the run whose asyncio task began the call."""

    __slots__ = ("_args", "_function", "_running", "owner")

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], running: set[ThreadCall], owner: Owner | None
    ) -> None:
        self._function, self._args, self._running, self.owner = function, args, running, owner

    def __call__(self) -> Any:
        self._running.add(self)
        try:
            return self._function(*self._args)
        finally:
            self._running.discard(self)


class _Executor(ThreadPoolExecutor):
    """The default executor of a loop."""

    def make_room(self, left: int) -> None:
        """Add one place for each thread that a handler left behind. Calls that already wait get these places, too."""
        places = PLACES + min(left, MORE_PLACES)
        if places > self._max_workers:
            self._max_workers = places
            for _ in range(self._work_queue.qsize()):
                self._adjust_thread_count()


class LeftBehind(BaseException):
    """Raised if asyncio tasks that handlers left behind do not end in time."""


class _HandlersLoop:
    """The common part of both kinds of event loop: it records calls in threads, and bounds the time for cleaning up."""

    _has_run = False

    def __init__(self) -> None:
        super().__init__()
        self.calls: set[ThreadCall] = set()
        self.executor = _Executor(PLACES, "asyncio")
        cast("asyncio.AbstractEventLoop", self).set_default_executor(self.executor)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Call `func` in a thread. In the default executor, the call is recorded while it runs."""
        if executor is None:
            func, args = ThreadCall(func, args, self.calls, _owner_here(cast("Any", self))), ()
        future: asyncio.Future[Any] = cast("Any", super()).run_in_executor(executor, func, *args)
        return future

    def run_until_complete(self, future: Any) -> Any:
        """Run the loop until `future` is done. Every call after the first is cleaning up, and waits only briefly."""
        loop, run = cast("asyncio.AbstractEventLoop", self), cast("Any", super()).run_until_complete
        if loop.is_running():
            return run(future)  # it raises RuntimeError
        future = asyncio.ensure_future(future, loop=loop)
        is_first, self._has_run = not self._has_run, True
        timer = None if is_first else loop.call_later(CLEAN_UP, loop.stop)
        try:
            return _run_on(run, future)
        except RuntimeError:
            if timer is None or future.done():
                raise
            raise LeftBehind from None
        finally:
            if timer is not None:
                timer.cancel()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Do nothing: threads of the default executor end with the process."""


class FastLoop(_HandlersLoop, uvloop.Loop):  # type: ignore[misc]  # the same
    """The event loop of uvloop."""


class PlainLoop(_HandlersLoop, asyncio.SelectorEventLoop):  # type: ignore[misc]  # its signatures have type variables
    """The event loop of asyncio."""


def run_handlers_loop(main: Callable[[], Coroutine[Any, Any, T]], *, use_uvloop: bool) -> T:
    """Run `main` in a new event loop; returns its value."""
    values: list[T] = []

    async def kept() -> None:
        heed_exits(asyncio.get_running_loop())
        values.append(await main())

    with suppress(LeftBehind):
        anyio.run(kept, backend_options={"loop_factory": FastLoop if use_uvloop else PlainLoop})
    return values[0]


def threads_left(loop: object, owners: Collection[int]) -> int:
    """The number of left-behind threads in the default executor: their owner is not in `owners` (ids of running
    owners), so nobody waits for them. The executor gets one more place for each."""
    if not isinstance(loop, _HandlersLoop):
        return 0
    left = sum(call.owner is not None and id(call.owner) not in owners for call in list(loop.calls))
    loop.executor.make_room(left)
    return left


def heed_exits(loop: asyncio.AbstractEventLoop) -> None:
    """Give owners to the asyncio tasks of this loop from now on. An owner is notified if its task ends with SystemExit
    or KeyboardInterrupt."""
    loop.set_task_factory(_owned)
    loop.set_exception_handler(_on_exception)


def _owned(loop: asyncio.AbstractEventLoop, coro: Any, **how: Any) -> Any:
    task = OwnedTask(coro, loop=loop, **how)
    task.owner = _owner_here(loop)
    return task


def _owner_here(loop: asyncio.AbstractEventLoop) -> Owner | None:
    around = asyncio.current_task(loop)
    return around.owner if isinstance(around, OwnedTask) else None


def _on_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error, task = context.get("exception"), context.get("future")
    if (
        error is not None
        and is_error(error, SystemExit, KeyboardInterrupt)
        and isinstance(task, OwnedTask)
        and task.owner
    ):
        task.owner.exited(error)
    loop.default_exception_handler(context)


def _run_on(run: Callable[[Any], Any], future: asyncio.Future[Any]) -> Any:
    """Run the loop until `future` is done, whatever tasks and callbacks raise."""
    while True:
        try:
            return run(future)
        except (SystemExit, KeyboardInterrupt) as error:
            if future.done():
                raise
            BaseException.with_traceback(error, _of_handler(error.__traceback__))
            if _is_of_task(error):
                _tell_owners(error)
            else:
                _log.error(
                    "a callback of a handler raised SystemExit or KeyboardInterrupt: the worker goes on", exc_info=error
                )


def _of_handler(trace: TracebackType | None) -> TracebackType | None:
    """The error's traceback without frames of the loop. These frames hold the handle, the task and the error in a
    cycle, so asyncio would collect and report the task late."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OF_LOOP):
        trace = trace.tb_next
    return trace


def _tell_owners(error: BaseException) -> None:
    """Notify the owner of the asyncio task that raised the error. asyncio does not name the task. So this looks for the
    task that holds the error, among young objects first. It does not call `task.exception()`, because that would mark
    the exception as read."""
    for generation in range(3):
        for task in gc.get_objects(generation):
            if type(task) is OwnedTask and task._exception is error and task._log_traceback:
                if task.owner is not None:
                    task.owner.exiting(task)
                return


def _is_of_task(error: BaseException) -> bool:
    """True if a coroutine raised the error. Then the asyncio task of this coroutine holds the error, and code that
    awaits the task gets it."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_code.co_flags & inspect.CO_COROUTINE for frame in frames)
