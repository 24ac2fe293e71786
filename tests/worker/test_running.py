"""The handlers of a worker that is cancelled: none is left behind, not even in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
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
from holdfast_config import Settings
from tests.handler.deliveries import delivery_of, task_runner_of
from tests.handler.test_stopping import PATIENCE, wait_until_cancelled

pytestmark = pytest.mark.anyio


def running_tasks(handler: Callable[..., Any]) -> TaskRunner:
    return task_runner_of(WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q")), handler)


def test_a_context_is_not_shown_with_all_that_it_holds() -> None:
    """structlog draws the values in a traceback, unless it is told otherwise: through each part all parts again."""
    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), MemoryStore("q"))
    assert "Settings" not in repr(context)


async def cut_short(running: TaskRunner, begun: threading.Event) -> None:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as life:
            life.start_soon(running.serve)
            await anyio.wait_all_tasks_blocked()
            running.start(delivery_of(), lease_clock())
            await anyio.to_thread.run_sync(begun.wait, PATIENCE)
            life.cancel_scope.cancel()


async def test_a_handler_in_a_thread_is_asked_to_stop_and_waited_for() -> None:
    begun, over = threading.Event(), threading.Event()

    def handle(task: Task) -> None:
        begun.set()
        wait_until_cancelled(task)
        over.set()

    await cut_short(running_tasks(handle), begun)
    assert over.is_set()


async def test_an_async_handler_is_interrupted_wherever_it_waits() -> None:
    begun, interrupted = threading.Event(), list[str]()

    async def handle(task: Task) -> None:
        begun.set()
        for place in ("work", "cleaning up"):
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                interrupted.append(place)
        raise ValueError("at last")

    await cut_short(running_tasks(handle), begun)
    assert interrupted == ["work", "cleaning up"]


async def test_another_turn_of_a_task_begins_when_the_running_one_has_ended_and_its_result_counts_alone() -> None:
    begun, release, runs = threading.Event(), threading.Event(), list[str]()

    def handle(messages: list[dict[str, Any]]) -> str:
        word = str(messages[-1]["parts"][0]["text"])
        runs.append(f"{word} begins")
        begun.set()
        if word == "second":
            release.wait(PATIENCE)
        runs.append(f"{word} ends")
        return word

    running = running_tasks(handle)
    exchange = running.context.exchange
    second, first = delivery_of("second", turn=2, claim="2:i:1"), delivery_of("first", claim="1:i:2")

    def claim(delivery: Delivery) -> None:
        [claimed] = exchange.answer(exchange.next_request(), Pulled(Standing.OK, (), (delivery,)))
        running.start(claimed, lease_clock())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as life:
            life.start_soon(running.serve)
            await anyio.wait_all_tasks_blocked()
            claim(second)
            await anyio.to_thread.run_sync(begun.wait, PATIENCE)
            claim(first)
            await anyio.wait_all_tasks_blocked()
            assert runs == ["second begins"]
            release.set()
            while running.context.state.use.done < 2:
                await anyio.lowlevel.checkpoint()
            life.cancel_scope.cancel()
    assert runs == ["second begins", "second ends", "first begins", "first ends"]
    assert [(one.claim, b"first" in one.result) for one in exchange.unsettled] == [("1:i:2", True)]


async def test_an_earlier_turn_is_stopped_by_the_claim_of_another_and_told_of_as_stopped() -> None:
    begun = anyio.Event()

    async def handle() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            raise ValueError("too late") from None

    running = running_tasks(handle)
    exchange = running.context.exchange
    with anyio.fail_after(PATIENCE), capture_logs() as told:
        async with anyio.create_task_group() as life:
            life.start_soon(running.serve)
            await anyio.wait_all_tasks_blocked()
            for delivery in (delivery_of("second", turn=2, claim="2:i:1"), delivery_of("first", claim="1:i:2")):
                [claimed] = exchange.answer(exchange.next_request(), Pulled(Standing.OK, (), (delivery,)))
                running.start(claimed, lease_clock())
                await begun.wait()
            while not running.context.state.use.done:
                await anyio.lowlevel.checkpoint()
            ended = [(line["event"], line.get("reason")) for line in told]
            life.cancel_scope.cancel()
    assert ended == [("stopped a handler", "another-turn")]
