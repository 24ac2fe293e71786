"""A task that is canceled while a step of it runs in a thread."""

from __future__ import annotations

import threading

import anyio
import anyio.from_thread
import pytest
from structlog.testing import capture_logs

from holdfast import Task, create_broker
from tests.worker.processes import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_canceled_step_is_no_failure_that_is_retried() -> None:
    """The value that the thread returns is too late to be recorded. Its worker hears of the cancel, or finds its claim
    lost when it records the step: the first of both is the reason."""
    began, goes_on = anyio.Event(), threading.Event()

    def slow() -> int:
        anyio.from_thread.run_sync(began.set)
        goes_on.wait(PATIENCE)
        return 1

    async def handle(task: Task) -> object:
        return await task.step("slow", slow)

    with capture_logs() as lines:
        async with create_broker(type="memory") as broker, broker.working(handle):
            task_id = await broker.manager.run_task("x")
            with anyio.fail_after(PATIENCE):
                await began.wait()
            await broker.manager.cancel_task(task_id)
            goes_on.set()
    told = [line for line in lines if line.get("task") == task_id]
    assert [line["event"] for line in told] == ["stopped a handler"]
    assert told[0]["reason"] in {"cancel", "lost"}
