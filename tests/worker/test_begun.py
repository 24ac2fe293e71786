"""The page of begun tasks: a task stands on it while it is read and from the call of its handler on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from holdfast.core import begun_page
from holdfast.core.begun_page import RUNS, BegunTasks
from holdfast.core.delivery import Delivery, Pulled, Settle, Standing
from holdfast.core.messages import Part
from holdfast.core.pull_protocol import Lease
from holdfast.handler.registry import Handlers
from holdfast.handler.task import Task
from holdfast.store.memory import MemoryStore
from holdfast.worker import run
from holdfast.worker.context import WorkerContext, WorkerSpec, lease_clock
from holdfast.worker.run import TaskRunner
from holdfast_config import Settings
from tests.handler.deliveries import delivery_of, task_runner_of

pytestmark = pytest.mark.anyio

BOOT = "boot"
NARROW: list[Part] = [{"kind": "data", "data": {"name": "narrow", "kwargs": {}}}]


async def test_a_task_is_noted_while_it_is_read_and_from_its_call_on(monkeypatch: pytest.MonkeyPatch) -> None:
    page = bytearray(begun_page.blank(4, BOOT))
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q"), begun=BegunTasks(page))
    seen: dict[str, object] = {}

    class ReadTask(Task):
        def __init__(self, *arguments: object) -> None:
            seen["while it is read"] = begun_page.read(bytes(page), BOOT)
            super().__init__(*arguments)  # type: ignore[arg-type]

    async def handle() -> None:
        seen["in its handler"] = begun_page.read(bytes(page), BOOT)

    monkeypatch.setattr(run, "Task", ReadTask)
    running = task_runner_of(context, handle)
    async with anyio.create_task_group() as life:
        life.start_soon(running.serve)
        await anyio.wait_all_tasks_blocked()
        running.start(delivery_of(), lease_clock())
        seen["before its call"] = begun_page.read(bytes(page), BOOT)
        await anyio.wait_all_tasks_blocked()
        life.cancel_scope.cancel()
    assert seen == {"while it is read": {"t-1": RUNS}, "before its call": {}, "in its handler": {"t-1": RUNS}}


@asynccontextmanager
async def started(running: TaskRunner, *claimed: Delivery) -> AsyncGenerator[None]:
    """The tasks are started; their turn comes when the body waits. They have ended afterwards."""
    exchange = running.context.exchange
    async with anyio.create_task_group() as life:
        life.start_soon(running.serve)
        await anyio.wait_all_tasks_blocked()
        for delivery in exchange.answer(exchange.next_request(), Pulled(Standing.OK, (), claimed)):
            running.start(delivery, lease_clock())
        yield
        await anyio.wait_all_tasks_blocked()
        life.cancel_scope.cancel()


async def handle_nothing() -> None:
    raise AssertionError("it was called")


@pytest.mark.parametrize("timeout", [None, 60.0], ids=["at once", "with a time limit"])
@pytest.mark.parametrize("request_number", [1, 2])
async def test_a_revoked_claim_is_not_begun_and_is_given_back(timeout: float | None, request_number: int) -> None:
    page = bytearray(begun_page.blank(4, BOOT))
    settings = Settings(task_timeout=timeout)
    context = WorkerContext(WorkerSpec("i" * 32, 0, settings), MemoryStore("q"), begun=BegunTasks(page))
    async with started(task_runner_of(context, handle_nothing), delivery_of()):
        page[begun_page.REVOKED : begun_page.HEADER] = begun_page.revoked(request_number)
    assert begun_page.read(bytes(page), BOOT) == {}
    assert [(one.task_id, one.kind, one.reason) for one in context.exchange.unsettled] == [
        ("t-1", Settle.RETURNED, "revoked")
    ]


@pytest.mark.parametrize("timeout", [None, 60.0], ids=["at once", "with a time limit"])
async def test_a_process_that_stood_still_past_its_lease_begins_nothing_that_it_had_started(
    timeout: float | None,
) -> None:
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings(task_timeout=timeout)), MemoryStore("q"))
    async with started(task_runner_of(context, handle_nothing), delivery_of()):
        context.state.lease = Lease(15.0, lease_clock() - 16.0)
    assert [(one.task_id, one.kind) for one in context.exchange.unsettled] == [("t-1", Settle.RETURNED)]


async def test_a_claim_that_is_revoked_while_it_waits_for_a_place_is_not_begun() -> None:
    handlers, called, go = Handlers(), list[str](), anyio.Event()

    @handlers.register("narrow", concurrency=1)
    async def narrow() -> None:
        called.append("narrow")
        await go.wait()

    page = bytearray(begun_page.blank(4, BOOT))
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q"), begun=BegunTasks(page))
    running = task_runner_of(context, handle_nothing)
    running.handler = handlers.frozen("tests:handlers")
    async with started(running, *(delivery_of(NARROW, task_id=task_id) for task_id in ("t-1", "t-2"))):
        await anyio.wait_all_tasks_blocked()
        assert begun_page.read(bytes(page), BOOT) == {"t-1": RUNS}
        page[begun_page.REVOKED : begun_page.HEADER] = begun_page.revoked(1)
        go.set()
    assert called == ["narrow"]
    assert [(one.task_id, one.kind) for one in context.exchange.unsettled] == [
        ("t-1", Settle.COMPLETED),
        ("t-2", Settle.RETURNED),
    ]
