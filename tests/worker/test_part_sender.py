"""Parts on their way from handlers to the store: together, in order, and never at the cost of the handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
import pytest
from msgspec import structs
from structlog.testing import capture_logs

from holdfast.core.delivery import EmittedBatch, EmitVerdict, Holding
from holdfast.core.pull_protocol import Exchange
from holdfast.errors import StoreFullError, StoreUnavailableError
from holdfast.handler.run_notes import PartLog
from holdfast.worker import beside_store
from holdfast.worker.beside_store import UNSENT_BYTES, UNSENT_PARTS, PartSender
from holdfast.worker.context import StoreRetries
from tests.handler.deliveries import delivery_of

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds, to which no test comes unless it fails
LARGE = b'"' + b"x" * (UNSENT_BYTES // 4) + b'"'


@dataclass
class SlowStore:
    """Keeps batches once `let_go` is set; raises `error` while there is one. `asked` is set by each call."""

    verdict: EmitVerdict = EmitVerdict.OK
    error: Exception | None = None
    calls: int = 0
    asked: anyio.Event = field(default_factory=anyio.Event)
    let_go: anyio.Event = field(default_factory=anyio.Event)
    kept: list[EmittedBatch] = field(default_factory=list[EmittedBatch])
    shown: list[list[tuple[str, str]]] = field(default_factory=list[list[tuple[str, str]]])

    async def show_progress(self, shown: list[Holding]) -> int:
        self.shown.append([(each.task_id, each.progress) for each in shown])
        self.asked.set()
        if self.error:
            raise self.error
        await self.let_go.wait()
        return len(shown)

    async def emit(self, batches: list[EmittedBatch]) -> list[EmitVerdict]:
        self.calls += 1
        self.asked.set()
        if self.error:
            raise self.error
        await self.let_go.wait()
        self.kept += batches
        return [self.verdict] * len(batches)

    def values(self, task_id: str = "t-1") -> list[object]:
        return [value for each in self.kept if each.task_id == task_id for value in msgspec.json.decode(each.values)]


class Stage:
    """A sender that serves, on a store that a test lets answer."""

    def __init__(self, store: SlowStore) -> None:
        self.store, self.retries, self.exchange = store, StoreRetries(), Exchange(1)
        context: Any = SimpleNamespace(store=store, retries=self.retries, exchange=self.exchange)
        self.parts = PartSender(context)
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Stage:
        await self._group.__aenter__()
        self._group.start_soon(self.parts.serve)
        self._group.start_soon(self.parts.progress.serve)
        await anyio.wait_all_tasks_blocked()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(*error)


async def test_parts_that_come_while_others_are_on_their_way_go_together() -> None:
    async with Stage(SlowStore()) as stage:
        with anyio.fail_after(WITHIN):
            parts = stage.parts.of(delivery_of())
            await parts.emit(b"0")
            await stage.store.asked.wait()
            for number in range(1, 1000):
                await parts.emit(b"%d" % number)
            stage.store.let_go.set()
            await parts.end()
    assert stage.store.values() == [*range(1000)]
    assert [(each.number, each.count) for each in stage.store.kept] == [(1, 1), (2, 999)]


async def test_parts_of_several_tasks_go_in_one_command() -> None:
    async with Stage(SlowStore()) as stage:
        stage.store.let_go.set()
        one, two = (stage.parts.of(delivery_of(task_id=task_id, claim=task_id)) for task_id in ("one", "two"))
        await one.emit(b"1")
        await two.emit(b"2")
        await two.end()
        await one.end()
    assert (stage.store.values("one"), stage.store.values("two"), stage.store.calls) == ([1], [2], 1)


async def test_nothing_is_sent_where_nothing_is_emitted() -> None:
    async with Stage(SlowStore()) as stage:
        await stage.parts.of(delivery_of()).end()
        await anyio.wait_all_tasks_blocked()
    assert stage.store.calls == 0


async def test_a_handler_that_emits_faster_than_the_store_takes_waits_for_room() -> None:
    async with Stage(SlowStore()) as stage:
        parts = stage.parts.of(delivery_of())
        sent = list[int]()

        async def emit_all() -> None:
            for number in range(12):
                await parts.emit(LARGE)
                sent.append(number)
            await parts.end()

        with anyio.fail_after(WITHIN):
            async with anyio.create_task_group() as group:
                group.start_soon(emit_all)
                await stage.store.asked.wait()
                assert len(sent) < 12
                stage.store.let_go.set()
    assert len(stage.store.values()) == 12


async def test_many_small_parts_wait_for_room_as_well() -> None:
    async with Stage(SlowStore()) as stage:
        stage.store.let_go.set()
        parts = stage.parts.of(delivery_of())
        with anyio.fail_after(WITHIN):
            for _ in range(4 * UNSENT_PARTS):
                await parts.emit(b"1")
            await parts.end()
    assert len(stage.store.values()) == 4 * UNSENT_PARTS
    assert max(each.count for each in stage.store.kept) <= UNSENT_PARTS + 1


async def test_the_oldest_parts_are_dropped_while_the_store_is_away() -> None:
    """The handler does not wait, and those who read see that parts are missing by the numbers of the others."""
    async with Stage(SlowStore(error=StoreUnavailableError("away"))) as stage:
        with anyio.fail_after(WITHIN):
            parts = stage.parts.of(delivery_of())
            await parts.emit(b'"first"')
            while not stage.retries.degraded:
                await anyio.lowlevel.checkpoint()
            for _ in range(20):
                await parts.emit(LARGE)
            stage.store.error = None
            stage.store.let_go.set()
            await parts.end()
    first, rest = stage.store.kept
    assert (first.number, first.count) == (1, 1)
    assert (rest.count, rest.number + rest.count) == (3, 22)


@pytest.mark.parametrize("verdict", [EmitVerdict.LOST, EmitVerdict.DAMAGED])
async def test_nothing_more_is_sent_of_a_task_that_others_have(verdict: EmitVerdict) -> None:
    async with Stage(SlowStore(verdict)) as stage:
        stage.store.let_go.set()
        parts = stage.parts.of(delivery_of())
        await parts.emit(b"1")
        while not parts.is_over:
            await anyio.lowlevel.checkpoint()
        await parts.emit(b"2")
        await parts.end()
    assert (stage.store.values(), stage.store.calls) == ([1], 1)


async def test_parts_are_dropped_where_the_store_is_full() -> None:
    async with Stage(SlowStore(error=StoreFullError("full"))) as stage:
        with anyio.fail_after(WITHIN):
            parts = stage.parts.of(delivery_of())
            await parts.emit(b"1")
            await parts.end()
        assert not stage.retries.degraded
    assert stage.store.calls == 1


async def test_the_end_of_a_task_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_store, "END_TIMEOUT", 0.01)
    async with Stage(SlowStore(error=StoreUnavailableError("away"))) as stage:
        parts = stage.parts.of(delivery_of())
        await parts.emit(b"1")
        await stage.store.asked.wait()
        with anyio.fail_after(WITHIN):
            await parts.end()
        await parts.emit(b"2")
        assert parts.values == []


async def test_no_handler_waits_for_parts_that_nobody_sends_any_more() -> None:
    async with Stage(SlowStore()) as stage:
        parts = stage.parts.of(delivery_of())
        await parts.emit(b"1")
        await stage.store.asked.wait()
    with anyio.fail_after(WITHIN):
        await parts.emit(b"2")
        await parts.end()


async def test_parts_of_a_task_that_was_given_to_its_worker_anew_go_under_its_new_claim() -> None:
    async with Stage(SlowStore()) as stage:
        stage.store.let_go.set()
        parts = stage.parts.of(delivery_of())
        await parts.emit(b"1")
        await anyio.wait_all_tasks_blocked()
        stage.exchange.held["t-1"] = structs.replace(delivery_of(), claim="1:i:9")
        await parts.emit(b"2")
        await parts.end()
    assert [(one.claim, one.number) for one in stage.store.kept] == [("1:i:1", 1), ("1:i:9", 1)]


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await anyio.lowlevel.checkpoint()


def shows(parts: PartLog, numbers: range) -> None:
    for number in numbers:
        parts.show(str(number), "")


async def test_the_latest_progress_of_all_tasks_goes_in_one_command() -> None:
    async with Stage(SlowStore()) as stage:
        one, two = (stage.parts.of(delivery_of(task_id=task_id, claim=task_id)) for task_id in ("one", "two"))
        with anyio.fail_after(WITHIN):
            one.show("0", "")
            await stage.store.asked.wait()
            for each in (one, two):
                await anyio.to_thread.run_sync(shows, each, range(1, 1001))
            stage.store.let_go.set()
            await until(lambda: not (len(stage.store.shown) < 2 or two.unsent_progress))
    assert [sorted(each) for each in stage.store.shown] == [[("one", "0")], [("one", "1000"), ("two", "1000")]]


async def test_a_thousand_calls_a_second_are_a_command_each_tenth() -> None:
    async with Stage(SlowStore()) as stage:
        stage.store.let_go.set()
        parts, began = stage.parts.of(delivery_of()), anyio.current_time()
        for number in range(500):
            parts.show(str(number), "")
            await anyio.sleep(0.001)  # a rate is a number of calls in a real time
        took = anyio.current_time() - began
    assert 1 < len(stage.store.shown) <= took / 0.1 + 1


async def test_progress_that_was_not_confirmed_goes_with_the_end_of_the_task() -> None:
    async with Stage(SlowStore()) as stage:
        with anyio.fail_after(WITHIN):
            parts = stage.parts.of(delivery_of())
            assert parts.unsent_progress == ""
            parts.show("1/2", "")
            await stage.store.asked.wait()
            assert parts.unsent_progress == "1/2"
            stage.store.let_go.set()
            await until(lambda: not (parts.unsent_progress))
            parts.show("2/2", "")
            await parts.end()
            assert parts.unsent_progress == "2/2"


async def test_a_store_that_is_away_costs_no_progress_but_the_late_one() -> None:
    async with Stage(SlowStore(error=StoreUnavailableError("away"))) as stage:
        with anyio.fail_after(WITHIN):
            parts = stage.parts.of(delivery_of())
            parts.show("1/2", "")
            await stage.store.asked.wait()
            stage.store.error = None
            stage.store.let_go.set()
            parts.show("2/2", "")
            await until(lambda: not (parts.unsent_progress))
    assert stage.store.shown[-1] == [("t-1", "2/2")]


async def test_progress_that_is_bounded_is_told_once() -> None:
    async with Stage(SlowStore()) as stage:
        parts = stage.parts.of(delivery_of())
        with capture_logs() as logs:
            parts.show("1", "total is 0: it is left out")
            parts.show("2", "total is 0: it is left out")
    assert [(each["task"], each["reason"]) for each in logs] == [("t-1", "total is 0: it is left out")]
