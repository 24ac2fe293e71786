"""Pulling and settling: requests are numbered, a claim is the task's latest or nothing, one outcome a turn."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Settlement, Standing
from tests.conformance.stand import Stand, settlement
from tests.lua.operations import introduction

pytestmark = pytest.mark.anyio


async def test_the_same_request_gets_the_same_claims_and_a_lower_one_none(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2", "t3")
    first = await stand.pull("a", 2, request=1)
    again = await stand.pull("a", 2, request=1)
    assert (again.standing, again.deliveries) == (Standing.REPLAY, first.deliveries)
    older = await stand.pull("a", 2, request=0)
    assert (older.standing, older.deliveries) == (Standing.STALE, ())
    assert len(await stand.take("a")) == 1


async def test_who_is_not_registered_gets_nothing(stand: Stand) -> None:
    await stand.submit("t1")
    pulled = await stand.pull("a")
    assert (pulled.standing, pulled.deliveries) == (Standing.UNKNOWN, ())
    assert await stand.state("t1") == "submitted"


async def test_an_incarnation_is_registered_once(stand: Stand) -> None:
    assert await stand.store.register(introduction("a")) is Standing.OK
    assert await stand.store.register(introduction("a")) is Standing.OK
    assert await stand.store.register(introduction("a", pid=2)) is Standing.TAKEN


async def test_a_pull_takes_its_share_of_what_waits(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit(*(f"t{number}" for number in range(6)))
    assert len(await stand.take("a")) == 3
    pulled = await stand.pull("b", 2)
    assert (len(pulled.deliveries), pulled.backlog) == (2, 1)


async def test_settling_comes_before_claiming(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    [first] = await stand.take("a", 1)
    pulled = await stand.pull("a", 1, settlement(first, Settle.COMPLETED, result=b'"done"'))
    assert (pulled.verdicts, [one.task_id for one in pulled.deliveries]) == (("OK",), ["t2"])
    task = await stand.task("t1")
    assert (task.state, task.result, task.owner) == ("completed", b'"done"', "")


ENDS = {
    Settle.COMPLETED: "completed",
    Settle.FAILED: "failed",
    Settle.REJECTED: "rejected",
    Settle.EXHAUSTED: "failed",
    Settle.UNREADABLE: "rejected",
    Settle.INPUT_REQUIRED: "input-required",
    Settle.AUTH_REQUIRED: "auth-required",
}


@pytest.mark.parametrize("kind", ENDS)
async def test_a_turn_has_one_outcome(stand: Stand, kind: Settle) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    assert await stand.settle("a", delivery, kind, result=b'"r"', reason="why") == "OK"
    assert await stand.settle("a", delivery, Settle.FAILED, result=b'"x"') == "ALREADY"
    task = await stand.task("t1")
    assert (task.state, task.result, task.reason) == (ENDS[kind], b'"r"', "why")
    assert task.dead == (kind is Settle.EXHAUSTED)


async def test_a_claim_that_is_not_the_latest_records_nothing(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1")
    [old] = await stand.take("a")
    await stand.crash("a")
    [new] = await stand.take("b")
    assert await stand.settle("a", old, Settle.COMPLETED) == "LOST"
    assert await stand.settle("b", new, Settle.COMPLETED) == "OK"
    assert new.delivery == 2


async def test_the_dead_may_still_report_while_nobody_has_claimed_since(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.crash("a")
    assert await stand.settle("a", delivery, Settle.COMPLETED) == "OK"
    assert not await stand.take("b")


@pytest.mark.parametrize("kind", [Settle.RETRY, Settle.RELEASE, Settle.RETURNED, Settle.SUSPENDED])
async def test_the_dead_give_nothing_back(stand: Stand, kind: Settle) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.crash("a")
    assert await stand.settle("a", delivery, kind) == "LOST"
    assert await stand.state("t1") == "submitted"


async def test_a_task_nobody_knows_is_gone(stand: Stand) -> None:
    await stand.register("a")
    assert (await stand.pull("a", 0, Settlement("t1", "1:a:1", Settle.COMPLETED))).verdicts == ("GONE",)


async def test_a_task_that_was_given_back_before_it_had_begun_is_the_next_one_and_no_release(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    [delivery] = await stand.take("a", 1)
    assert await stand.settle("a", delivery, Settle.RETURNED) == "OK"
    [again] = await stand.take("a", 1)
    assert (again.task_id, again.delivery, again.attempts, again.crashes) == ("t1", 2, 0, 0)
    assert (await stand.task("t1")).releases == 0


async def test_a_released_task_is_the_next_one_uncharged(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    [delivery] = await stand.take("a", 1)
    assert await stand.settle("a", delivery, Settle.RELEASE, checkpoint=b'"half"') == "OK"
    [again] = await stand.take("a", 1)
    assert (again.task_id, again.delivery, again.attempts, again.crashes) == ("t1", 2, 0, 0)
    assert (again.checkpoint, (await stand.task("t1")).releases) == (b'"half"', 1)
