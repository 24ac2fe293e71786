"""Settlements: one recorded outcome a turn, by the latest claim only."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.trail import read_trail
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio

ENDS = {
    Settle.COMPLETED: "completed",
    Settle.FAILED: "failed",
    Settle.REJECTED: "rejected",
    Settle.EXHAUSTED: "failed",
    Settle.UNREADABLE: "rejected",
}


@pytest.mark.parametrize("kind", list(ENDS))
async def test_an_outcome_ends_the_task_with_its_result(space: Namespace, kind: Settle) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    assert await space.settle("a", delivery, kind, result=b'"r"', reason="why") == "OK"
    assert await space.settle("a", delivery, kind, result=b'"x"') == "ALREADY"
    task = await space.task("t1")
    assert (task.state, task.result, task.reason) == (ENDS[kind], b'"r"', "why")
    assert task.dead == (kind is Settle.EXHAUSTED)
    assert len(await space.reasons()) == (kind is Settle.UNREADABLE)
    await space.check()


async def test_a_result_of_an_older_claim_is_lost(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    [old] = await space.take("a")
    await space.crash("a")
    [new] = await space.take("b")
    assert await space.settle("a", old, Settle.COMPLETED) == "LOST"
    assert await space.settle("b", new, Settle.COMPLETED) == "OK"
    await space.check()


async def test_a_result_from_the_dead_counts_while_nobody_has_claimed_since(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.crash("a")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"
    assert not await space.take("b")
    assert await space.state("t1") == "completed"
    await space.check()


@pytest.mark.parametrize("kind", [Settle.RETRY, Settle.RELEASE, Settle.RETURNED, Settle.SUSPENDED])
async def test_the_dead_give_nothing_back_twice(space: Namespace, kind: Settle) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.crash("a")
    assert await space.settle("a", delivery, kind) == "LOST"
    assert await space.state("t1") == "submitted"
    await space.check()


async def test_nothing_is_recorded_after_a_cancel(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.store.cancel("t1", "enough")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "LOST"
    assert await space.state("t1") == "canceled"
    await space.check()


async def test_a_task_nobody_knows_is_gone(space: Namespace) -> None:
    await space.register("a")
    pulled = await space.pull("a", 0, Settlement("t1", "1:a:1", Settle.COMPLETED))
    assert pulled.verdicts == ("GONE",)
    await space.check()


async def test_a_retry_waits_and_counts_as_an_attempt(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.RETRY, delay_ms=700, checkpoint=b"half")
    task = await space.task("t1")
    assert (task.state, task.due_ms, task.attempts) == ("delayed", space.clock.now_ms + 700, 1)
    await space.clock.advance(699)
    assert not await space.take("a")
    await space.clock.advance(1)
    [again] = await space.take("a")
    assert (again.attempts, again.crashes, again.delivery, again.checkpoint) == (1, 0, 2, b"half")
    await space.check()


async def test_released_tasks_return_to_the_head_in_order_and_uncharged(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1", "t2", "t3", "t4", "t5", "t6")
    taken = await space.take("a", 3)
    releases = [Settlement(d.task_id, d.claim, Settle.RELEASE) for d in reversed(taken)]
    await space.pull("a", 0, *releases)
    again = [delivery for _ in range(6) for delivery in await space.take("b", 1)]
    assert [delivery.task_id for delivery in again] == ["t1", "t2", "t3", "t4", "t5", "t6"]
    assert {(d.attempts, d.crashes) for d in again} == {(0, 0)}
    assert (await space.task("t1")).releases == 1
    await space.check()


async def test_what_had_not_begun_returns_to_the_head_in_order_and_nothing_is_counted(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1", "t2", "t3", "t4")
    taken = await space.take("a", 3)
    back = [Settlement(d.task_id, d.claim, Settle.RETURNED, reason="drain") for d in reversed(taken)]
    assert set((await space.pull("a", 0, *back)).verdicts) == {"OK"}
    task = await space.task("t1")
    assert (task.releases, task.attempts, task.crashes, task.deliveries, task.runs) == (0, 0, 0, 1, 0)
    last = read_trail(task.trail)[-1]
    assert (last.event, last.reason) == ("returned", "drain")
    again = [delivery for _ in range(4) for delivery in await space.take("b", 1)]
    assert [delivery.task_id for delivery in again] == ["t1", "t2", "t3", "t4"]
    assert [(delivery.delivery, delivery.run) for delivery in again] == [(2, 1), (2, 1), (1, 1), (1, 1)]
    await space.check()


async def test_who_waits_is_told(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    waiting = space.store.settled(["t1"])
    assert await anext(waiting) == ""
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await anext(waiting) == "t1"
    await waiting.aclose()  # type: ignore[attr-defined]  # an async generator behind the port's AsyncIterator
