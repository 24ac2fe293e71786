"""The event loop of a worker: what the handlers' code leaves in it, or throws through it, ends or delays no worker.

Theory of operation. asyncio raises SystemExit and KeyboardInterrupt of a task or callback out of the event loop, to end
the program. In a worker they are those of one handler. The task that raised one has it as its exception, and
whoever awaits the task gets it. So the loop goes on: everything else in it is as it was. The run that the task belongs
to is told. Where nobody has looked at the exception by the end of its handler, it has failed. A task that nobody keeps
is forgotten before that, which asyncio reports.

At the end of the program asyncio cancels all tasks that are left, and waits for them and for the threads of the default
executor. Here their tasks are over: the wait for asyncio tasks is short, and there is none for threads.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import traceback
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar, cast

import anyio
import structlog
import uvloop

from holdfast_config.error_text import is_error

T = TypeVar("T")

CLEAN_UP = 0.3  # seconds for the asyncio tasks that handlers have left behind, once they are cancelled

_OF_LOOP = (__file__, "uvloop", str(Path(asyncio.__file__).parent) + os.sep)  # files

_log = structlog.get_logger("holdfast.worker")


class Owner(Protocol):
    """The run of a handler, to which the asyncio tasks belong that it starts."""

    def exiting(self, task: asyncio.Task[Any]) -> None:
        """One of them has ended with SystemExit or KeyboardInterrupt. Somebody may still await it."""

    def exited(self, error: BaseException) -> None:
        """One of them has ended so, and is forgotten: nobody has awaited it."""


class OwnedTask(asyncio.Task[Any]):
    """`owner`: also of the tasks that it starts."""

    owner: Owner | None = None


class LeftBehind(BaseException):
    """asyncio tasks that handlers have left behind do not end."""


class _HandlersLoop:
    """The common part of both kinds of event loop."""

    _has_run = False

    def run_until_complete(self, future: Any) -> Any:
        """Run the loop until `future` is done; after the first time, not for long."""
        loop, run = cast("asyncio.AbstractEventLoop", self), cast("Any", super()).run_until_complete
        if loop.is_running():
            return run(future)  # refused there
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
        """Its threads end with the process."""


class FastLoop(_HandlersLoop, uvloop.Loop):  # type: ignore[misc]
    """uvloop's."""


class PlainLoop(_HandlersLoop, asyncio.SelectorEventLoop):
    """asyncio's own."""


def run_handlers_loop(main: Callable[[], Coroutine[Any, Any, T]], *, use_uvloop: bool) -> T:
    """Run `main` in an event loop of its own; its value."""
    values: list[T] = []

    async def kept() -> None:
        heed_exits(asyncio.get_running_loop())
        values.append(await main())

    with suppress(LeftBehind):
        anyio.run(kept, backend_options={"loop_factory": FastLoop if use_uvloop else PlainLoop})
    return values[0]


def heed_exits(loop: asyncio.AbstractEventLoop) -> None:
    """From now on the tasks of this loop know their owners, who are told of exits."""
    loop.set_task_factory(_owned)
    loop.set_exception_handler(_on_exception)


def _owned(loop: asyncio.AbstractEventLoop, coro: Any, **how: Any) -> Any:
    task = OwnedTask(coro, loop=loop, **how)
    if isinstance(around := asyncio.current_task(loop), OwnedTask) and around.owner is not None:
        task.owner = around.owner
    return task


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
                    "a callback of a handler asked for the end of the process; the worker goes on", exc_info=error
                )


def _of_handler(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames of the loop. They hold its handle, which holds the task, which holds the error: a cycle, by
    which asyncio would forget the task late, and report it late."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OF_LOOP):
        trace = trace.tb_next
    return trace


def _tell_owners(error: BaseException) -> None:
    """asyncio does not say which task has raised it: the one that has it as its exception is looked for. Those that
    awaited it have it, too."""
    for task in gc.get_objects():
        if (
            type(task) is OwnedTask and task._exception is error and task.owner is not None
        ):  # to ask for it would be to look at it
            task.owner.exiting(task)


def _is_of_task(error: BaseException) -> bool:
    """True if a coroutine raised it: then its task has the error, and whoever awaits it."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_code.co_flags & inspect.CO_COROUTINE for frame in frames)
