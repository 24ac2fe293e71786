"""Upkeep by the steward and by operators: promote, ring, trim, clear, count, show."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from tests.lua.namespace import Namespace
from tests.lua.operations import LARGE, admission, run, submission

pytestmark = pytest.mark.anyio


async def test_due_tasks_are_promoted_and_the_next_one_is_told(space: Namespace) -> None:
    for number, delay in enumerate((500, 100, 900)):
        await space.store.submit([submission(f"t{number}", space.queue, delay_ms=delay)])
    assert await space.store.promote(10) == (0, 100)
    await space.clock.advance(500)
    assert await space.store.promote(1) == (1, 0)
    assert await space.store.promote(10) == (1, 400)
    await space.register("a")
    assert [delivery.task_id for delivery in await space.take("a")] == ["t1", "t0"]
    await space.check()


async def test_only_an_earlier_due_time_alarms_the_steward(space: Namespace) -> None:
    alarm = space.key("control:steward")
    await space.store.submit([submission("t1", space.queue, delay_ms=500)])
    assert await space.store.wait_alarm(5.0)
    await space.store.submit([submission("t2", space.queue, delay_ms=900)])
    assert await space.do("EXISTS", alarm) == 0
    await space.store.submit([submission("t3", space.queue, delay_ms=100)])
    assert await space.do("LLEN", alarm) == 1
    await space.store.promote(10)
    assert await space.do("EXISTS", alarm) == 0


async def test_pulls_promote_where_there_is_no_steward(space: Namespace) -> None:
    await space.register("a")
    await space.store.submit([submission("t1", space.queue, delay_ms=500)])
    await space.clock.advance(500)
    assert [delivery.task_id for delivery in await space.take("a")] == ["t1"]
    await space.check()


async def test_a_lane_is_rung_only_if_something_waits(space: Namespace) -> None:
    bell = space.key(f"bell:{space.queue}")
    assert await space.store.ring(space.queue) == (0, 0)
    assert await space.do("LLEN", bell) == 0
    await space.push(run("f1"), run("f2"))
    assert [await space.store.ring(space.queue) for _ in range(3)] == [(2, 0), (2, 1), (2, 1)]
    assert await space.do("LLEN", bell) == 1


async def test_peeking_leaves_a_lane_unchanged(space: Namespace) -> None:
    assert not await space.store.peek(space.queue, 0.01)
    await space.push(run("f1"), run("f2"))
    before = await space.entries()
    assert await space.store.peek(space.queue, 0.01)
    assert await space.entries() == before


async def test_trimming_leaves_no_key_of_the_task(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    for message in ("m2", "m3"):
        await space.message("t1", message)
    for _ in range(4):
        taken = await space.take("a")
        done = [
            Settlement(d.task_id, d.claim, Settle.EXHAUSTED if d.task_id == "t2" else Settle.COMPLETED) for d in taken
        ]
        await space.pull("a", 0, *done)
    await space.clock.advance(1_000)
    assert await space.store.trim(1_001, 10) == 0
    assert await space.store.trim(1_000, 2) == 2
    assert await space.store.trim(1_000, 10) == 1
    snapshot = await space.check()
    assert not [key for key in snapshot if any(name in key for name in (":t1", ":t2", ":t3"))]
    assert (await space.store.counts()).dead == 0


async def test_what_has_not_ended_is_never_trimmed(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    await space.clock.advance(10**9)
    assert await space.store.trim(0, 100) == 0
    await space.check()


async def test_a_record_that_is_gone_does_not_stop_trimming(space: Namespace) -> None:
    await space.submit("t1", "t2")
    await space.store.cancel("t1", "x")
    await space.store.cancel("t2", "x")
    await space.do("DEL", space.key("task:t1"))
    assert await space.store.trim(0, 10) == 2


async def test_clearing_cancels_what_waits(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    await space.take("a", 1)
    await space.push(run("f1"))
    assert [await space.store.clear(space.queue, 2) for _ in range(3)] == [2, 1, 0]
    assert [await space.state(task) for task in ("t1", "t2", "t3")] == ["working", "canceled", "canceled"]
    assert (await space.store.counts()).counters["cleared"] == 1
    await space.check()


async def test_counts_tell_every_state(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{number}" for number in range(5)))
    await space.store.submit([submission("later", "slow", delay_ms=900)])
    first, second = await space.take("a", 2)
    await space.settle("a", first, Settle.COMPLETED)
    await space.store.cancel("t4", "x")
    counts = await space.store.counts()
    told = {state: n for state, n in counts.states.items() if n}
    assert told == {State.SUBMITTED: 2, State.WORKING: 1, State.DELAYED: 1, State.COMPLETED: 1, State.CANCELED: 1}
    assert (counts.workers, counts.lanes[space.queue], counts.oldest_ms) == (1, 2, space.clock.now_ms)
    assert second.task_id in [task.task_id for task in (await space.store.tasks(Wanted((State.WORKING,)), 10)).tasks]
    assert len((await space.store.tasks(Wanted(), 10)).tasks) == 6
    assert (await space.store.workers())[0].running == (second.task_id,)


async def test_tasks_of_lanes_that_only_strangers_use_are_counted_and_listed(space: Namespace) -> None:
    await space.register("a")
    lane = f"{space.queue}:foreign"
    await space.push(run("f1"), run("f2", text="x" * LARGE), lane=lane)
    await space.pull("a", 5, lanes=[lane])
    head = await space.store.inbox("a")
    assert head is not None
    await space.store.admit("a", admission(head[1]))
    await space.crash("a")
    counts = await space.store.counts()
    assert (counts.states[State.SUBMITTED], counts.lanes[lane]) == (2, 2)
    page = await space.store.tasks(Wanted((State.SUBMITTED,)), 10)
    assert {task.task_id for task in page.tasks} == {"f1", "f2"}
    await space.check()


async def test_records_that_somebody_deleted_stop_nobody(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await space.store.submit([submission("later", space.queue, delay_ms=5)])
    await space.do("DEL", space.key("task:t1"), space.key("task:later"))
    await space.clock.advance(5)
    assert [delivery.task_id for delivery in await space.take("a")] == ["t2"]
    for _ in range(3):
        await space.store.audit(space.queue, 10, "")
    assert await space.do("ZCARD", space.key(f"submitted:{space.queue}")) == 0
    assert await space.do("ZCARD", space.key("due")) == 0


async def test_a_trail_says_what_happened(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED, reason="fine")
    trail = [line.split(" ", 1)[1] for line in (await space.task("t1")).trail]
    assert trail == [f"claimed {delivery.claim}", f"settled completed 1 {delivery.claim} fine"]


async def test_what_is_set_aside_is_bounded(space: Namespace) -> None:
    await space.register("a")
    await space.push(*[b"{}"] * 1100)
    for _ in range(12):
        await space.take("a", 100)
    assert await space.entries() == []
    assert await space.do("LLEN", space.key("unreadable")) == 1000
    assert (await space.store.counts()).counters["unreadable"] == 1100


async def test_what_ended_is_counted_for_ever(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    for delivery in await space.take("a", 2):
        await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.store.trim(0, 1) == 1
    counts = await space.store.counts()
    assert (counts.states[State.COMPLETED], counts.counters["completed"]) == (1, 2)
