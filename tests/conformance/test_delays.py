"""Delays and retries: nothing runs before it is due, and what is due runs without a steward, too."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.tasks import RetryAnswer
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio


async def test_a_delayed_task_runs_when_it_is_due(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", delay_ms=1_000)
    assert await stand.state("t1") == "delayed"
    assert await stand.store.promote(10) == (0, 1_000)
    await stand.advance(999)
    assert not await stand.take("a")
    await stand.advance(1)
    assert await stand.store.promote(10) == (1, None)
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1"]


async def test_a_pull_submits_what_is_due_where_no_steward_is(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", delay_ms=1_000)
    await stand.advance(1_000)
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1"]


async def test_a_moment_that_has_passed_is_now(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", due_ms=1)
    await stand.submit("t2", delay_ms=0)
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1", "t2"]


async def test_the_earliest_is_promoted_first(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("late", delay_ms=2_000)
    await stand.submit("early", delay_ms=1_000)
    await stand.advance(3_000)
    assert (await stand.store.promote(1))[0] == 1
    assert [delivery.task_id for delivery in await stand.take("a", 1)] == ["early"]


async def test_an_earlier_due_time_wakes_the_steward(stand: Stand) -> None:
    await stand.submit("t1", delay_ms=60_000)
    assert await stand.store.wait_alarm(5.0)
    await stand.submit("t2", delay_ms=90_000)
    assert not await stand.store.wait_alarm(0.05)
    await stand.submit("t3", delay_ms=30_000)
    assert await stand.store.wait_alarm(5.0)


async def test_a_retry_waits_and_is_counted(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    assert await stand.settle("a", delivery, Settle.RETRY, delay_ms=500, reason="busy", checkpoint=b'"c"') == "OK"
    task = await stand.task("t1")
    assert (task.state, task.attempts, task.reason, task.owner) == ("delayed", 1, "busy", "")
    await stand.advance(500)
    [again] = await stand.take("a")
    assert (again.attempts, again.delivery, again.turn, again.checkpoint) == (1, 2, 1, b'"c"')


async def test_a_delayed_task_can_be_made_due_now(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", delay_ms=60_000)
    assert await stand.store.retry("t1", "now") == RetryAnswer("due", "t1")
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1"]


async def test_what_is_left_is_told_with_the_next_due_time(stand: Stand) -> None:
    assert await stand.store.left([stand.queue]) == (False, None, 0)
    await stand.submit("t1", delay_ms=1_000)
    assert await stand.store.left([stand.queue]) == (False, 1_000, 0)
    await stand.submit("t2")
    assert (await stand.store.left([stand.queue]))[0]
    assert not (await stand.store.left(["other"]))[0]
    await stand.register("a")
    [delivery] = await stand.take("a")
    assert (await stand.store.left([stand.queue]))[0]
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert await stand.store.left([stand.queue]) == (False, 1_000, 0)
    await stand.advance(1_000)
    assert (await stand.store.left([stand.queue]))[0]
