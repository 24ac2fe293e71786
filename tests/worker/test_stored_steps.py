"""Steps on their way to the store: what a stop, a lost task and a store that does not answer make of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from msgspec import structs

from holdfast.core.pull_protocol import Exchange
from holdfast.core.steps import StepKept, StepVerdict
from holdfast.errors import StoreUnavailableError
from holdfast.worker.beside_store import StoredSteps
from holdfast.worker.context import StoreRetries
from tests.handler.deliveries import delivery_of

pytestmark = pytest.mark.anyio


@dataclass
class SlowStore:
    """Answers with `verdict` once `let_go` is set; the first `failures` calls fail."""

    verdict: StepVerdict = StepVerdict.OK
    failures: int = 0
    asked: anyio.Event = field(default_factory=anyio.Event)
    let_go: anyio.Event = field(default_factory=anyio.Event)
    kept: list[tuple[str, str, int, str, bytes]] = field(default_factory=list[Any])

    async def step(self, task_id: str, claim: str, place: int, name: str, result: bytes) -> StepKept:
        self.asked.set()
        await self.let_go.wait()
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("away")
        self.kept.append((task_id, claim, place, name, result))
        return StepKept(self.verdict, name)


def steps_on(store: SlowStore, stopped: list[str], exchange: Exchange | None = None) -> StoredSteps:
    context: Any = SimpleNamespace(store=store, retries=StoreRetries(), exchange=exchange or Exchange(1))
    return StoredSteps(context, delivery_of(), stopped.append)


async def test_a_result_is_recorded_though_its_handler_is_stopped_meanwhile() -> None:
    store, stopped = SlowStore(), list[str]()
    async with anyio.create_task_group() as group:
        group.start_soon(steps_on(store, stopped).keep, 0, "fetch", b"1")
        await store.asked.wait()
        group.cancel_scope.cancel()
        store.let_go.set()
    assert (store.kept, stopped) == ([("t-1", "1:i:1", 0, "fetch", b"1")], [])


async def test_the_handler_of_a_lost_task_is_stopped() -> None:
    store, stopped = SlowStore(StepVerdict.LOST), list[str]()
    store.let_go.set()
    assert (await steps_on(store, stopped).keep(0, "fetch", b"1")).verdict is StepVerdict.LOST
    assert stopped == ["1:i:1"]


async def test_a_task_that_was_given_to_its_worker_anew_records_under_its_new_claim() -> None:
    """The claim under which the first try was sent was lost by the store meanwhile."""
    store, stopped, exchange = SlowStore(StepVerdict.LOST), list[str](), Exchange(1)
    exchange.held["t-1"] = delivery_of()
    async with anyio.create_task_group() as group:
        group.start_soon(steps_on(store, stopped, exchange).keep, 0, "fetch", b"1")
        await store.asked.wait()
        exchange.held["t-1"] = structs.replace(delivery_of(), claim="1:i:9")
        store.let_go.set()
    assert [claim for _, claim, _, _, _ in store.kept] == ["1:i:1", "1:i:9"]
    assert stopped == ["1:i:9"]  # that one is not the task's either


async def test_a_store_that_does_not_answer_is_waited_for_by_several_steps_at_once() -> None:
    store, stopped = SlowStore(failures=2), list[str]()
    store.let_go.set()
    steps = steps_on(store, stopped)
    async with anyio.create_task_group() as group:
        for place in range(2):
            group.start_soon(steps.keep, place, "fetch", b"1")
    assert sorted(place for _, _, place, _, _ in store.kept) == [0, 1]
