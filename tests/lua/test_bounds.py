"""Lanes with a limit, with a rate, paused: on all hosts, told in the store, without waking anybody for nothing."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit, LaneState
from holdfast.core.worker_records import WorkerKind
from tests.lua.namespace import Namespace
from tests.lua.test_suspects import suspect

pytestmark = pytest.mark.anyio


async def taken(space: Namespace, worker: str = "w", slots: int = 10) -> list[str]:
    return [delivery.task_id for delivery in await space.take(worker, slots)]


async def ring_of(space: Namespace) -> int:
    rings: int = await space.do("LLEN", space.keys.bell(space.queue))
    return rings


async def silence(space: Namespace) -> None:
    await space.do("DEL", space.keys.bell(space.queue))


async def lane(space: Namespace) -> LaneState:
    [found] = [one for one in (await space.store.lanes([space.queue])).lanes if one.name == space.queue]
    return found


async def test_no_more_run_than_the_limit_on_all_workers_together(space: Namespace) -> None:
    await space.register("a", "b")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "3")])
    await space.submit(*(f"t{number}" for number in range(8)))
    held = [*await space.take("a", 10), *await space.take("b", 10)]
    assert len(held) == 3
    assert await taken(space, "b") == []
    assert (await lane(space)).closed == "limit"
    await space.check()


async def test_an_end_makes_room_and_rings(space: Namespace) -> None:
    await space.register("a", "b")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.submit("t1", "t2")
    [first] = await space.take("a", 10)
    await taken(space, "b")
    await silence(space)
    assert await ring_of(space) == 0
    await space.settle("a", first, Settle.COMPLETED)
    assert await ring_of(space) == 1
    assert await taken(space, "b") == ["t2"]
    await space.check()


async def test_a_death_makes_room_and_rings(space: Namespace) -> None:
    await space.register("a", "b")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.submit("t1", "t2")
    await taken(space, "a")
    await taken(space, "b")
    await silence(space)
    await space.crash("a")
    assert await ring_of(space) == 1
    await space.check()
    assert await taken(space, "b") == ["t1"]


async def test_a_limit_counts_what_runs_already(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1", "t2", "t3")
    assert len(await space.take("w", 2)) == 2
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "2")])
    await space.check()
    assert await taken(space) == []
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "3")])
    assert await taken(space) == ["t3"]
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "")])
    await space.check()


async def test_nobody_is_rung_for_a_lane_at_its_limit(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.submit("t1", "t2")
    await taken(space)
    await silence(space)
    await taken(space)
    await space.submit("t3")
    await space.store.ring(space.queue)
    assert await ring_of(space) == 0


async def test_a_leaked_permit_is_given_back_by_audit(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.submit("t1")
    await space.do("SADD", space.key(f"active:{space.queue}"), "nobody")
    assert await taken(space) == []
    await space.store.audit(space.queue, 100, "")
    assert await ring_of(space) == 1
    assert await taken(space) == ["t1"]
    await space.check()


async def test_a_rate_is_kept_by_all_workers_together(space: Namespace) -> None:
    """100 a minute: one in 600 ms, over a minute never more."""
    workers = [f"w{number}" for number in range(4)]
    await space.register(*workers)
    await space.store.bound([LaneLimit(LaneBound.RATE, space.queue, "100/60000/1")])
    await space.submit(*(f"t{number}" for number in range(150)))
    started = 0
    for _ in range(300):  # a minute
        for worker in workers:
            for delivery in await space.take(worker, 10):
                started += 1
                await space.settle(worker, delivery, Settle.COMPLETED)
        await space.clock.advance(200)
    assert started == 100
    await space.check()


async def test_a_burst_is_what_a_pause_saves_up_and_no_more(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.RATE, space.queue, "10/1000/4")])
    await space.submit(*(f"t{number}" for number in range(20)))
    await space.clock.advance(60_000)
    assert len(await space.take("w", 10)) == 4
    await space.clock.advance(200)
    assert len(await space.take("w", 10)) == 2


async def test_a_clock_that_was_set_back_stops_a_rate_for_no_longer_than_its_burst(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.RATE, space.queue, "1/1000/1")])
    await space.submit("t1", "t2")
    assert await taken(space) == ["t1"]
    await space.clock.advance(-3_600_000)
    await space.clock.advance(1000)
    await taken(space)
    await space.clock.advance(1000)
    await taken(space)
    assert await space.state("t2") == "working"


async def test_the_steward_rings_when_the_lanes_rate_allows_more(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.RATE, space.queue, "1/1000/1")])
    await space.submit("t1", "t2")
    assert await taken(space) == ["t1"]
    await silence(space)
    await space.submit("t3")
    await space.store.ring(space.queue)
    assert await ring_of(space) == 0
    assert await space.store.wait_alarm(1.0)
    assert await space.store.promote(10) == (0, 1000)
    await space.clock.advance(1000)
    await space.store.promote(10)
    assert await ring_of(space) == 1
    assert await taken(space) == ["t2"]


async def test_a_paused_lane_accepts_and_starts_nothing(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    assert await space.store.pause_lane(space.queue, "the bank is closed")
    assert not await space.store.pause_lane(space.queue, "the bank is closed")
    await space.submit("t2")
    assert await space.store.ring(space.queue) == (2, 1)
    assert await ring_of(space) == 0
    assert await taken(space) == []
    state = await lane(space)
    assert (state.is_paused, state.paused_because, state.waiting) == (True, "the bank is closed", 2)
    await space.check()


async def test_a_resumed_lane_rings_and_goes_on(space: Namespace) -> None:
    await space.register("w")
    await space.store.pause_lane(space.queue, "asked")
    await space.submit("t1")
    await taken(space)
    assert await space.store.resume_lane(space.queue)
    assert not await space.store.resume_lane(space.queue)
    assert await ring_of(space) == 1
    assert await taken(space) == ["t1"]
    snapshot = await space.check()
    assert space.key("rules") not in snapshot
    assert space.key("closed") not in snapshot


async def test_the_other_lanes_go_on_while_one_is_paused(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    await space.submit("s1", lane="slow")
    await space.store.pause_lane(space.queue, "asked")
    pulled = await space.pull("w", 10, lanes=[space.queue, "slow"], weights=[5, 1])
    assert [one.task_id for one in pulled.deliveries] == ["s1"]
    assert pulled.backlog == 0


async def test_a_task_that_runs_alone_waits_while_its_lane_is_paused(space: Namespace) -> None:
    await suspect(space, "t1")
    await space.register("w", kind=WorkerKind.SINGLE)
    await space.store.pause_lane(space.queue, "asked")
    assert await taken(space, "w", 1) == []
    await space.store.resume_lane(space.queue)
    assert await taken(space, "w", 1) == ["t1"]
    await space.check()


async def test_a_process_that_cannot_fork_waits_for_no_suspect_of_a_paused_lane(space: Namespace) -> None:
    await space.register("w", kind=WorkerKind.SINGLE)
    await suspect(space)
    await space.store.pause_lane(space.queue, "asked")
    await space.submit("t1", lane="slow")
    pulled = await space.pull("w", 1, lanes=[space.queue, "slow"])
    assert [delivery.task_id for delivery in pulled.deliveries] == ["t1"]
    await space.check()


@pytest.mark.parametrize("slow_first", [True, False])
async def test_an_entry_in_another_lane_is_no_way_round_a_limit(space: Namespace, slow_first: bool) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, "slow", "1")])
    await space.submit("s1", "s2", lane="slow")
    entries = await space.entries(space.keys.lane("slow"))
    await space.push(*(reversed(entries) if slow_first else entries))
    pulled = await space.pull("w", 10, lanes=["slow", space.queue] if slow_first else [space.queue, "slow"])
    assert [one.task_id for one in pulled.deliveries] == ["s1"]
    await space.check(stolen=True)


async def test_an_operators_word_counts_in_a_pull(space: Namespace) -> None:
    await space.register("w")
    await space.store.declare("one", [LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "2")])
    await space.submit("t1", "t2", "t3")
    assert await taken(space) == ["t1", "t2"]


async def test_a_burst_does_not_wait_for_a_paused_lane(space: Namespace) -> None:
    await space.submit("t1")
    assert (await space.store.left([space.queue]))[0]
    await space.store.pause_lane(space.queue, "asked")
    assert not (await space.store.left([space.queue]))[0]


async def test_an_operators_word_counts_before_that_of_settings(space: Namespace) -> None:
    await space.store.declare("one", [LaneLimit(LaneBound.LIMIT, space.queue, "5")])
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "2")])
    await space.store.declare("one", [LaneLimit(LaneBound.LIMIT, space.queue, "7")])
    assert (await lane(space)).limit.value == "2"
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "none")])
    assert (await lane(space)).limit.value == ""
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "")])
    assert (await lane(space)).limit.value == "7"


async def test_of_two_hosts_the_last_word_counts_and_each_takes_back_only_its_own(space: Namespace) -> None:
    await space.store.declare(
        "one", [LaneLimit(LaneBound.LIMIT, space.queue, "5"), LaneLimit(LaneBound.LIMIT, "slow", "1")]
    )
    await space.store.declare("two", [LaneLimit(LaneBound.LIMIT, space.queue, "6")])
    assert (await lane(space)).limit.value == "6"
    assert await space.store.declare("one", []) == 1
    told = {one.name: one.limit.value for one in (await space.store.lanes([])).lanes}
    assert told == {space.queue: "6"}


async def test_the_same_word_again_changes_nothing(space: Namespace) -> None:
    rules = [LaneLimit(LaneBound.LIMIT, space.queue, "5"), LaneLimit(LaneBound.NAME, "mail", "1/1000/1")]
    assert await space.store.declare("one", rules) == 2
    assert await space.store.declare("one", rules) == 0
