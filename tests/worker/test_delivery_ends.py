"""No way out of a delivery leaves its end undone: an error is raised at each instruction of it, one after another.

A trace function raises the error. So all awaits and calls are met, those of error paths too, and those that are added
later. Then the delivery has ended and its slot is free; or the worker has failed, and its parent starts another one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs

from holdfast.core.delivery import Delivery, Pulled, Standing
from holdfast.handler.task import Task
from holdfast.store.memory import MemoryStore
from holdfast.worker.context import WorkerContext, WorkerSpec, lease_clock
from holdfast.worker.run import TaskRunner
from holdfast.worker.running_tasks import RunningTasks
from holdfast_config import Settings
from tests.combinations import combined
from tests.handler.deliveries import delivery_of, task_runner_of
from tests.handler.hostile_errors import Ending, Nothing, OddGroup

pytestmark = pytest.mark.anyio

PATIENCE = 30.0  # seconds


def silent() -> BaseException:
    return Nothing()


def odd_group() -> BaseException:
    return OddGroup("of errors", [Nothing(), OddGroup("of errors", [Nothing()])])


class Raiser:
    """Raises an error at one instruction of these functions, the `at`-th that is met."""

    def __init__(self, at: int, error: Callable[[], BaseException]) -> None:
        self.left, self._error = at, error

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code not in TRACED or self.left < 0:
            return None
        frame.f_trace_opcodes = True
        return self._at_instruction

    def _at_instruction(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise self._error()
        return self._at_instruction


TRACED = {
    function.__code__
    for function in (
        TaskRunner._deliver,
        TaskRunner._run_within_limit,
        TaskRunner._run,
        TaskRunner._end,
        TaskRunner._finish,
        RunningTasks.forget,
    )
}


@contextmanager
def traced(raiser: Raiser) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(raiser)
    try:
        yield
    finally:
        sys.settrace(before)


async def at_once() -> str:
    return "done"


async def later(task: Task) -> str:
    await task.emit("a part")
    await anyio.lowlevel.checkpoint()
    return "done"


def in_thread() -> str:
    return "done"


async def failing() -> None:
    raise Nothing


def claimed(running: TaskRunner, delivery: Delivery) -> Delivery:
    exchange = running.context.exchange
    [held] = exchange.answer(exchange.next_request(), Pulled(Standing.OK, (), (delivery,)))
    return held


async def until_over(running: TaskRunner) -> None:
    while running.tasks.by_id:
        await anyio.lowlevel.checkpoint()


async def play(handler: Callable[..., Any], raiser: Raiser) -> bool:
    """One delivery with that error in it, and one behind it, if the worker lives; True if it lives."""
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q"))
    running = task_runner_of(context, handler)
    running.tasks.look = 0.002
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # pytest cannot show such an error
    with anyio.fail_after(PATIENCE), capture_logs():
        sending = asyncio.create_task(running.parts.serve())
        serving = asyncio.create_task(running.serve())
        await anyio.lowlevel.checkpoint()
        with traced(raiser):
            running.start(claimed(running, delivery_of(timeout_ms=60000 if handler is later else None)), lease_clock())
            await until_over(running)
        await asyncio.wait(
            (serving,), timeout=5 * running.tasks.look
        )  # a further look has nothing to end a second time
        lives = not running.tasks._failure.done()
        if lives:
            assert not context.exchange.held
            assert len(context.exchange.unsettled) == 1
            running.start(claimed(running, delivery_of(task_id="t-2", claim="1:i:2")), lease_clock())
            await until_over(running)
            assert [one.task_id for one in context.exchange.unsettled] == ["t-2"]
        for each in (serving, sending) if lives else (sending,):
            each.cancel()
        await asyncio.wait((serving, sending))
        assert lives or isinstance(serving.exception(), Exception)
    return lives


HANDLERS = (at_once, later, in_thread, failing)
ERRORS = (silent, odd_group, asyncio.CancelledError, Ending, StopIteration)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")  # cut off
@pytest.mark.parametrize(("handler", "error"), combined(HANDLERS, ERRORS))
async def test_an_error_at_any_instruction_leaves_no_delivery_without_its_end(
    handler: Callable[..., Any], error: Callable[[], BaseException]
) -> None:
    at, lived = 0, 0
    while True:
        raiser = Raiser(at, error)
        lived += await play(handler, raiser)
        if raiser.left >= 0:
            break
        at += 1
    assert at > 150
    assert lived > 50


async def test_a_delivery_whose_asyncio_task_is_cancelled_before_its_first_step_ends_as_a_failure() -> None:
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q"))
    running = task_runner_of(context, at_once)
    running.tasks.look = 0.002
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as life:
            life.start_soon(running.serve)
            await anyio.lowlevel.checkpoint()
            running.start(claimed(running, delivery_of()), lease_clock())
            [started] = running.tasks.by_id.values()
            assert started.runner is not None
            started.runner.cancel()
            await until_over(running)
            life.cancel_scope.cancel()
    [report] = context.exchange.unsettled
    assert "cancelled" in report.reason
