"""Runs a sync handler in a thread. A thread cannot be interrupted: it is asked to stop, and the worker waits for it.

While the thread of a task still runs, the worker reports nothing of the task, because the task must not run again
beside that thread. If a thread does not stop within its grace, `on_stuck` is called: only the end of the process ends
such a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio

from holdfast.handler.run_notes import RunNotes
from holdfast.os.forked_copy import copied, end_copy
from holdfast.os.main_thread import opened

GRACE = 5.0  # seconds that a thread has to stop once it is asked to


@dataclass(frozen=True, slots=True)
class Threads:
    """The rules for the threads of handlers. `limiter` bounds how many run at once. `grace`: the seconds that a thread
    has to stop after it was asked to. `on_stuck` is called if it has not stopped by then."""

    limiter: anyio.CapacityLimiter
    on_stuck: Callable[[], None]
    grace: float = GRACE


@dataclass(slots=True)
class Ended:
    """The end of a call: its value, or its exception.

    `result` drops the exception from this object before it raises it. Otherwise the exception, its traceback and a
    frame would form a cycle. The cycle would keep all objects of the user's frames alive.
    """

    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the value, or raise the exception. Call this once."""
        error, self.error = self.error, None
        if error is None:
            return self.value
        try:
            raise error
        finally:
            del error


async def in_thread(
    function: Callable[[], object], notes: RunNotes, threads: Threads, *, in_main_thread: bool = False
) -> Any:
    """Call `function` in a thread; returns its value or raises its exception. On a cancel, ask the thread to stop and
    wait for it. The main thread (`in_main_thread`, only in a worker process) is also interrupted.

    If a caller cancels this asyncio task directly, the wait here may end early. The surrounding task group still waits
    for the thread.
    """
    over = anyio.Event()
    ended: list[Ended] = []

    async def beside() -> None:
        try:
            if in_main_thread and (main := opened()) is not None:
                await main.call(lambda: ended.append(captured(function)))
            else:
                ended.append(await anyio.to_thread.run_sync(captured, function, limiter=threads.limiter))
        finally:
            over.set()

    async with anyio.create_task_group() as group:
        group.start_soon(beside)
        try:
            await over.wait()
        except anyio.get_cancelled_exc_class():
            group.cancel_scope.cancel()  # a call that has not begun must not begin
            await _stop(notes, threads, over)
            raise
    return ended[0].result()


def captured(function: Callable[[], object]) -> Ended:
    """Call `function` and catch everything that it raises, also SystemExit. So no exception reaches the threads and
    task groups of the worker."""
    try:
        return _kept(Ended(function()))
    except BaseException as error:
        return _kept(Ended(error=error))  # in no variable: see Ended


def _kept(ended: Ended) -> Ended:
    if copied:  # the handler has forked this process, and did not end it
        end_copy(ended.error)
    return ended


async def _stop(notes: RunNotes, threads: Threads, over: anyio.Event) -> None:
    notes.cancelled = True
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(threads.grace):
            await over.wait()
        if not over.is_set():
            threads.on_stuck()
