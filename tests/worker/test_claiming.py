"""A worker listens to bells only while they are of use to it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from holdfast.core.delivery import Pulled, Standing
from holdfast.store.memory import MemoryStore
from holdfast.worker.context import WorkerContext, WorkerSpec
from holdfast.worker.pull import SETTLE_DELAY, HintListener, Puller
from holdfast_config import Settings

pytestmark = pytest.mark.anyio

NO_TASKS: Any = SimpleNamespace(
    take=lambda *_, **__: None, may_hold=lambda _: False, has_enough=lambda: False
)  # none begins


def context_of(store: Any, retries: Any) -> WorkerContext:
    """Of a worker with five slots."""
    return WorkerContext(WorkerSpec("i" * 32, 0, Settings(concurrency=5)), store, retries=retries)


async def test_no_bell_is_for_a_process_that_keeps_apart_for_a_suspect() -> None:
    """The store rings on for others then: a worker that heard that bell would ask without end."""
    answers = [Standing.OK, Standing.APART, Standing.REPLAY, Standing.OK]
    asked = iter(answers)

    async def pull(*_: object) -> object:
        return context.exchange.next_request(), Pulled(next(asked))

    context = context_of(MemoryStore("q"), SimpleNamespace(call=pull))
    puller = Puller(context, NO_TASKS)
    found = list[tuple[bool, bool]]()
    async with anyio.create_task_group() as group:
        group.start_soon(puller.serve)
        for _ in answers:
            await puller.pull_now()
            found.append((context.heeds_bells(), context.state.is_apart))
        group.cancel_scope.cancel()
    assert found == [(True, False), (False, True), (False, True), (True, False)]


async def test_who_keeps_apart_asks_once_after_each_wait_for_hints() -> None:
    """Its suspect may be canceled, or start elsewhere, without a hint; and it does not ask without waiting."""
    done, heard = anyio.Event(), list[str]()

    async def listen(_: str, lanes: tuple[str, ...], timeout: float) -> None:
        heard.append(f"waited {timeout} s for {len(lanes)} bells")

    async def call(what: str, function: Any) -> object:
        if what == "listen":
            return await function()
        heard.append("asked")
        if len(heard) > 6:
            done.set()
        return context.exchange.next_request(), Pulled(Standing.APART)

    context = context_of(SimpleNamespace(listen=listen), SimpleNamespace(call=call, degraded=""))
    puller = Puller(context, NO_TASKS)
    listener = HintListener(context, puller, NO_TASKS)
    async with anyio.create_task_group() as group:
        group.start_soon(puller.serve)
        await puller.pull_now()
        group.start_soon(listener.serve)
        with anyio.move_on_after(5):
            await done.wait()
        group.cancel_scope.cancel()
    assert heard[:7] == ["asked", *["waited 1.0 s for 0 bells", "asked"] * 3]


async def test_a_store_that_keeps_a_worker_from_its_fires_keeps_it_from_its_tasks_for_a_bounded_time() -> None:
    answers = iter([Pulled(Standing.FIRES, fires=("j",)), Pulled(Standing.OK)])

    async def pull(*_: object) -> object:
        return context.exchange.next_request(), next(answers)

    async def schedule(_: str) -> object:
        return await anyio.sleep_forever()

    context = context_of(SimpleNamespace(schedule=schedule), SimpleNamespace(call=pull))
    puller = Puller(context, NO_TASKS)
    puller.fires.timeout = 0.01
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(puller.serve)
            await puller.pull_now()
            await puller.pull_now()
            group.cancel_scope.cancel()
    assert next(answers, None) is None


@pytest.mark.parametrize(("last", "lines"), [(5, 2), (6, 0)], ids=["quiet", "halted"])
async def test_a_process_that_ends_at_a_halt_warns_of_a_quiet_host_alone(last: int, lines: int) -> None:
    answers = iter([Standing.QUIET, Standing.QUIET, Standing.OK])

    async def call(what: str, function: Any) -> object:
        return await function() if what == "halts" else (context.exchange.next_request(), Pulled(next(answers)))

    async def last_halt(_: str) -> int:
        return last

    context = context_of(SimpleNamespace(last_halt=last_halt), SimpleNamespace(call=call))
    context.spec = replace(context.spec, halt=5)
    puller = Puller(context, NO_TASKS)
    with capture_logs() as logs:
        async with anyio.create_task_group() as group:
            group.start_soon(puller.serve)
            for _ in range(3):
                await puller.pull_now()
            group.cancel_scope.cancel()
    assert len(logs) == lines


async def test_a_wait_for_hints_only_is_ended_once_per_answer_when_a_slot_is_free() -> None:
    """Each end is a hint in the store: a second one would end the wait after it, but the first one may be lost."""
    waits, woken, ends = anyio.Event(), list[str](), list[int]()

    async def listen(*_: object) -> None:
        waits.set()
        await anyio.sleep_forever()

    async def wake(incarnation: str) -> None:
        woken.append(incarnation)

    async def call(what: str, function: Any) -> object:
        return await function()

    store = SimpleNamespace(listen=listen, wake=wake)
    context = context_of(store, SimpleNamespace(call=call, degraded=""))
    context.state.is_ready = False
    puller = Puller(context, NO_TASKS)
    listener = HintListener(context, puller, NO_TASKS)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve)
            group.start_soon(listener.wake)
            await waits.wait()
            context.state.is_ready = True
            for answered in (0, 0, 0, 1, 1):
                context.exchange.answered = answered
                context.state.changed.announce()
                with anyio.move_on_after(5 * SETTLE_DELAY):
                    await anyio.sleep_forever()
                ends.append(len(woken))
            group.cancel_scope.cancel()
    assert ends == [1, 1, 1, 2, 2]
