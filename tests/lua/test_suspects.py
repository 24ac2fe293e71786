"""Suspects: tasks that have ended two workers wait beside their lane, and run in quarantine workers, one at a time."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.core.delivery import Hint, Settle, Standing
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.worker_records import Introduction, ServedLane, ServedWork, Startable, WorkerKind
from tests.lua.namespace import Namespace, settlement
from tests.lua.operations import introduction, submission

pytestmark = pytest.mark.anyio

NONE = Startable(0, 0)


async def enter(space: Namespace, *names: str) -> None:
    await space.register(*names, kind=WorkerKind.QUARANTINE)


async def suspect(space: Namespace, *task_ids: str, lane: str | None = None, key: str = "") -> None:
    """Tasks (s1 by default) that have ended two workers and are due again."""
    wanted = task_ids or ("s1",)
    lanes = [lane or space.queue]
    for task_id in wanted:
        await space.store.submit([submission(task_id, lanes[0], concurrency_key=key)])
    for task_id in wanted:
        for name in (f"{task_id}-x", f"{task_id}-y"):
            await space.register(name)
            pulled = await space.pull(name, 1, lanes=lanes)
            assert [delivery.task_id for delivery in pulled.deliveries] == [task_id]
            await space.crash(name)
    await space.clock.advance(5_000)
    await space.store.promote(1_000)


async def ids(
    space: Namespace, name: str, slots: int = 5, *settlements: object, lanes: list[str] | None = None
) -> list[str]:
    pulled = await space.pull(name, slots, *settlements, lanes=lanes)  # type: ignore[arg-type]  # settlements
    return [delivery.task_id for delivery in pulled.deliveries]


async def test_a_worker_of_the_pool_claims_no_suspect_and_goes_on_beside_it(space: Namespace) -> None:
    await space.register("a")
    await suspect(space)
    await space.submit("t1")
    await space.push(b'{"_b":"s1:1","operation":"run"}')
    assert await ids(space, "a") == ["t1"]
    assert await space.entries() == []
    await space.check()


async def test_a_suspect_rings_no_lane(space: Namespace) -> None:
    await suspect(space)
    await space.store.pause("s1", "wait")
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    assert await space.store.resume("s1", "go on") == "submitted"
    assert await space.store.suspects([space.queue]) == Startable(1, 0)
    assert await space.do("EXISTS", space.key(f"bell:{space.queue}")) == 0


async def test_a_quarantine_worker_claims_one_suspect_and_nothing_else(space: Namespace) -> None:
    await enter(space, "q")
    await suspect(space, "s1", "s2")
    await space.submit("t1")
    [alone] = await space.take("q", 5)
    assert (alone.task_id, alone.solo) == ("s1", True)
    assert await ids(space, "q", 4) == []
    assert await ids(space, "q", 5, settlement(alone, Settle.COMPLETED)) == ["s2"]
    await space.check()


async def test_quarantine_workers_are_not_counted_in_a_share(space: Namespace) -> None:
    await space.register("a")
    await enter(space, "q1", "q2", "q3")
    await space.submit("t1", "t2", "t3", "t4")
    assert len(await space.take("a", 4)) == 4
    await space.crash("q1")
    assert await space.do("SCARD", space.key("quarantine")) == 2
    await space.check()


async def test_suspects_of_a_paused_lane_starve_no_other_lane(space: Namespace) -> None:
    await suspect(space, *(f"p{i}" for i in range(130)), lane="slow")
    await suspect(space, "s1")
    await space.store.pause_lane("slow", "repairs")
    lanes = ["slow", space.queue]
    assert await space.store.suspects(lanes) == Startable(1, 0)
    await enter(space, "q1", "q2")
    assert await ids(space, "q1", 1, lanes=lanes) == ["s1"]
    assert await ids(space, "q2", 1, lanes=lanes) == []
    await space.store.resume_lane("slow")
    assert (await space.store.suspects(lanes)).startable > 1
    assert await ids(space, "q2", 1, lanes=lanes) == ["p0"]
    await space.check()


async def test_a_full_lane_counts_no_suspects_beyond_its_room(space: Namespace) -> None:
    await suspect(space, "s1", "s2")
    await space.store.declare("here", [LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    assert await space.store.suspects([space.queue]) == Startable(1, 0)
    await enter(space, "q")
    assert await ids(space, "q") == ["s1"]
    assert await space.store.suspects([space.queue]) == NONE
    await space.check()


async def test_suspects_of_lanes_that_are_not_served_are_not_counted(space: Namespace) -> None:
    await suspect(space)
    assert await space.store.suspects(["slow"]) == NONE
    await enter(space, "q")
    assert await ids(space, "q", lanes=["slow"]) == []
    await space.check()


async def test_each_lane_comes_first_in_its_turn(space: Namespace) -> None:
    await suspect(space, "a1", "a2", lane="slow")
    await suspect(space, "b1", "b2")
    lanes, first = ["slow", space.queue], set[str]()
    for number in range(2):
        await enter(space, f"q{number}")
        first.update(await ids(space, f"q{number}", lanes=lanes))
        await space.clock.advance(1)
    assert first == {"a1", "b1"}


async def test_one_that_its_key_keeps_back_waits_at_the_gate_and_nobody_of_the_key_overtakes_it(
    space: Namespace,
) -> None:
    await suspect(space, key="k")
    await space.register("a")
    await enter(space, "q")
    await space.store.submit([submission("t1", space.queue, concurrency_key="k")])
    [held] = await space.take("a")
    await space.store.submit([submission("t2", space.queue, concurrency_key="k")])
    assert await space.store.suspects([space.queue]) == NONE
    assert await ids(space, "q") == []
    assert await ids(space, "a", 4, settlement(held, Settle.COMPLETED)) == []  # t2 waits behind s1
    assert await space.store.suspects([space.queue]) == Startable(1, 0)
    [alone] = await space.take("q")
    assert alone.task_id == "s1"
    assert await ids(space, "a") == []
    assert await ids(space, "q", 1, settlement(alone, Settle.COMPLETED)) == []
    assert await ids(space, "a") == ["t2"]
    await space.check()


async def test_a_suspect_at_an_open_gate_is_seen_without_a_pull(space: Namespace) -> None:
    await suspect(space, key="k")
    await space.register("a")
    await space.store.submit([submission("t1", space.queue, concurrency_key="k")])
    [held] = await space.take("a")
    assert await space.store.suspects([space.queue]) == NONE
    await space.settle("a", held, Settle.COMPLETED)
    await space.store.submit([submission("t2", space.queue, concurrency_key="k")])
    assert await space.store.suspects([space.queue]) == Startable(1, 0)
    await space.check()


async def test_suspects_of_one_key_starve_none_without(space: Namespace) -> None:
    await suspect(space, *(f"k{i}" for i in range(130)), key="k")
    await suspect(space, "s1")
    await enter(space, "q1", "q2")
    assert await ids(space, "q1") == ["k0"]
    assert await ids(space, "q2") + await ids(space, "q2") == ["s1"]
    await space.check()


async def test_a_suspect_that_is_canceled_at_its_gate_lets_those_behind_it_go_on(space: Namespace) -> None:
    await suspect(space, key="k")
    await space.register("a")
    await space.store.submit([submission("t1", space.queue, concurrency_key="k")])
    [held] = await space.take("a")
    await space.store.submit([submission("t2", space.queue, concurrency_key="k")])
    assert await space.store.suspects([space.queue]) == NONE
    assert await ids(space, "a", 4, settlement(held, Settle.COMPLETED)) == []
    assert await space.store.cancel("s1", "enough") == "canceled"
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    await space.clock.advance(1_000)
    await space.store.promote(1)
    assert await space.do("LLEN", space.key(f"bell:{space.queue}")) == 1
    assert await ids(space, "a") == ["t2"]
    await space.check()


async def test_a_process_that_cannot_fork_runs_a_suspect_alone(space: Namespace) -> None:
    await space.register("a", kind=WorkerKind.SINGLE)
    await space.submit("t1", "t2")
    held = await space.take("a", 2)
    await suspect(space)
    await space.submit("t3")
    assert await ids(space, "a", 8, settlement(held[0], Settle.COMPLETED)) == []
    [alone] = await space.take("a", 9, settlement(held[1], Settle.COMPLETED))
    assert (alone.task_id, alone.solo) == ("s1", True)
    assert await ids(space, "a", 9) == []
    assert await ids(space, "a", 10, settlement(alone, Settle.COMPLETED)) == ["t3"]
    await space.check()


async def test_who_waits_for_a_suspect_rings_on_and_is_told_to_hear_no_bell(space: Namespace) -> None:
    """The bell that it has heard is of use to others; heard by itself again and again, it would ask without end."""
    await space.register("a", kind=WorkerKind.SINGLE)
    await space.submit("t1")
    [held] = await space.take("a", 1)
    await suspect(space)
    await space.submit("t2")
    bell = space.key(f"bell:{space.queue}")
    for slots, done in ((5, ()), (5, (settlement(held, Settle.COMPLETED),))):  # it waits; it runs
        await space.do("DEL", bell)
        assert (await space.pull("a", slots, *done)).standing is Standing.APART
        assert await space.do("LLEN", bell) == 1
    await space.check()


@pytest.mark.parametrize("kind", [WorkerKind.WORKER, WorkerKind.QUARANTINE])
async def test_who_cannot_fork_leaves_suspects_to_a_supervisor_that_serves_their_lane(
    space: Namespace, kind: WorkerKind
) -> None:
    """A suspect that takes its process down takes nothing else down where a quarantine worker runs it."""
    lanes = [space.queue, "slow"]
    await suspect(space)
    await suspect(space, "s2", lane="slow")
    served = replace(introduction("w"), kind=kind, service=ServedWork((ServedLane(space.queue),)))
    await space.store.register(served)
    await space.register("a", kind=WorkerKind.SINGLE)
    await space.register("b", kind=WorkerKind.SINGLE)
    assert await ids(space, "a", lanes=lanes) == ["s2"]
    await space.submit("t1")
    assert await ids(space, "b", lanes=lanes) == ["t1"]
    await space.crash("b")
    await space.crash("w")
    await space.register("c", kind=WorkerKind.SINGLE)
    assert await ids(space, "c", lanes=lanes) == ["s1"]
    await space.check()


async def test_two_more_deaths_in_quarantine_are_a_dead_letter(space: Namespace) -> None:
    await suspect(space)
    await space.message("s1", "m2")
    for number in range(2):
        assert await space.state("s1") in {"submitted", "delayed"}
        await space.clock.advance(25_000)
        await enter(space, f"w{number}")
        [delivery] = await space.take(f"w{number}")
        assert delivery.solo
        await space.crash(f"w{number}")
    task = await space.task("s1")
    assert (task.state, task.dead, task.crashes) == ("failed", True, 4)
    assert len(await space.reasons()) == 1
    await space.check()


async def test_who_cannot_fork_is_told_once_to_look_for_a_suspect(space: Namespace) -> None:
    await space.register("a")
    await space.register("s", kind=WorkerKind.SINGLE)
    await suspect(space)
    for _ in range(2):
        await space.store.suspects([space.queue])
    assert await space.store.listen("s", [], 1.0) == Hint("look")
    assert await space.do("EXISTS", space.key("control:s"), space.key("control:a")) == 0


async def test_a_suspect_that_succeeds_is_none_in_its_next_turn(space: Namespace) -> None:
    await enter(space, "q")
    await space.register("a")
    await suspect(space)
    await space.message("s1", "m2")
    [alone] = await space.take("q")
    assert await ids(space, "q", 10, settlement(alone, Settle.COMPLETED)) == []
    [next_turn] = await space.take("a")
    assert (next_turn.turn, next_turn.solo, next_turn.crashes) == (2, False, 0)
    await space.check()


@pytest.mark.parametrize("end", ["canceled", "suspended"])
async def test_a_suspect_that_is_taken_away_is_not_counted(space: Namespace, end: str) -> None:
    await suspect(space)
    assert await space.store.suspects([space.queue]) == Startable(1, 0)
    order = space.store.cancel if end == "canceled" else space.store.pause
    assert await order("s1", "enough") == end
    await space.check()
    assert await space.store.suspects([space.queue]) == NONE
    await enter(space, "q")
    assert await ids(space, "q") == []
    await space.check()


async def test_a_cleared_queue_keeps_no_suspect(space: Namespace) -> None:
    await suspect(space)
    assert await space.store.clear(space.queue, 10) == 1
    assert await space.state("s1") == "canceled"
    await space.check()


async def test_one_whose_record_was_deleted_is_none(space: Namespace) -> None:
    await suspect(space, "s1", "s2")
    await space.do("DEL", space.key("task:s1"))
    assert await space.store.suspects([space.queue]) == Startable(1, 0)
    assert await space.do("ZRANGE", space.key(f"suspects:{space.queue}"), 0, -1) == [b"s2"]


async def die_together(space: Namespace, *task_ids: str, times: int = 2, charged: bool = True) -> None:
    """Tasks that run beside each other each time that their worker dies."""
    await space.submit(*task_ids)  # a duplicate the second time
    for _ in range(times):
        name = uuid4().hex
        await space.register(name)
        assert {one.task_id for one in await space.take(name)} == set(task_ids)
        await space.crash(name, charged=charged)


async def end_in_quarantine(space: Namespace, task_id: str, **how: bool) -> None:
    """A suspect takes its quarantine worker along; others that come first are given back."""
    name = f"q-{task_id}"
    await enter(space, name)
    [alone] = await space.take(name)
    assert alone.task_id == task_id
    await space.crash(name, **how)


async def counts_of(space: Namespace, task_id: str) -> tuple[str, int, bool]:
    task = await space.task(task_id)
    return task.state, task.crashes, task.solo


async def test_a_suspect_that_ends_its_quarantine_worker_clears_those_that_died_with_it(space: Namespace) -> None:
    await die_together(space, "p1", "t1", "t2")
    await space.submit("t3")
    await space.clock.advance(5_000)
    await space.store.promote(10)
    await end_in_quarantine(space, "p1")
    assert [await counts_of(space, one) for one in ("p1", "t1", "t2")] == [
        ("delayed", 3, True),
        ("submitted", 0, False),
        ("submitted", 0, False),
    ]
    await space.register("a")
    assert await ids(space, "a") == [
        "t3",
        "t1",
        "t2",
    ]  # by their numbers: those of the suspects are from their promotion
    await space.check()


async def test_who_is_delayed_is_due_now_when_it_is_cleared(space: Namespace) -> None:
    await die_together(space, "p1", "t1")
    await space.store.retry("p1", "now")
    await end_in_quarantine(space, "p1")
    task = await space.task("t1")
    assert (task.state, task.due_ms) == ("delayed", space.clock.now_ms)
    assert (await space.store.promote(10))[0] == 1
    await space.register("a")
    assert await ids(space, "a") == ["t1"]
    await space.check()


async def test_who_runs_runs_on_when_it_is_cleared(space: Namespace) -> None:
    await die_together(space, "p1", "t1")
    await space.clock.advance(5_000)
    await space.store.promote(10)
    await enter(space, "q1", "q2")
    [first] = await space.take("q1")
    [second] = await space.take("q2")
    held = {first.task_id: "q1", second.task_id: "q2"}
    await space.crash(held["p1"])
    assert await counts_of(space, "t1") == ("working", 0, False)
    running = first if first.task_id == "t1" else second
    assert await space.settle(held["t1"], running, Settle.COMPLETED) == "OK"
    await space.check()


@pytest.mark.parametrize("how", [{"ordered": True, "charged": False}, {"charged": False}])
async def test_a_death_by_an_order_or_a_lost_host_clears_nobody(space: Namespace, how: dict[str, bool]) -> None:
    await die_together(space, "p1", "t1")
    await space.clock.advance(5_000)
    await space.store.promote(10)
    await end_in_quarantine(space, "p1", **how)
    assert await counts_of(space, "t1") == ("submitted", 2, True)
    await space.check()


async def test_a_death_in_the_pool_clears_nobody(space: Namespace) -> None:
    await die_together(space, "p1", "t1", times=1)
    await space.register("a")
    assert await ids(space, "a", 1) == ["p1"]
    await space.crash("a")
    assert await counts_of(space, "t1") == ("submitted", 1, False)
    await space.check()


async def test_what_was_not_shared_still_counts(space: Namespace) -> None:
    await die_together(space, "p1", "t1")
    await die_alone_in_pool(space, "x")
    await space.clock.advance(5_000)
    await space.store.promote(10)
    await end_in_quarantine(space, "p1")
    assert await counts_of(space, "x") == ("submitted", 1, False)
    await space.check()


async def die_alone_in_pool(space: Namespace, task_id: str) -> None:
    await space.submit(task_id)
    await space.register(f"only-{task_id}")
    assert await ids(space, f"only-{task_id}") == [task_id]
    await space.crash(f"only-{task_id}")


async def test_suspects_by_recoveries_are_cleared_with_the_crash_that_was_set(space: Namespace) -> None:
    await die_together(space, "p1", "t1", times=3, charged=False)
    assert await counts_of(space, "t1") == ("submitted", 1, True)
    await end_in_quarantine(space, "p1")
    assert await counts_of(space, "t1") == ("submitted", 0, False)
    await space.register("a")
    assert await ids(space, "a") == ["t1"]
    await space.check()


async def test_a_suspect_by_recoveries_runs_while_no_other_quarantine_worker_of_its_host_does(space: Namespace) -> None:
    await suspect(space, "s1")
    await die_together(space, "r1", times=3, charged=False)
    assert await space.store.suspects([space.queue]) == Startable(2, 1)
    await space.store.register(Introduction("far", "elsewhere", "boot", 1, 0, kind=WorkerKind.QUARANTINE))
    await enter(space, "q1", "q2")
    [first] = await space.take("q1")
    assert first.task_id == "s1"
    assert await ids(space, "q2") == []
    [alone] = await space.take("q1", 1, settlement(first, Settle.COMPLETED))
    assert alone.task_id == "r1"
    await suspect(space, "s2")
    assert await ids(space, "q2") == []
    assert await ids(space, "far") == ["s2"]
    await space.check()


async def test_a_suspect_by_recoveries_has_its_turn_though_others_keep_coming(space: Namespace) -> None:
    """Once it was met it is the next of its host, whichever lane comes first and whoever asks."""
    await suspect(space, "s1", "s2", "s3", lane="slow")
    await die_together(space, "r1", times=3, charged=False)
    lanes = ["slow", space.queue]
    await enter(space, "q1", "q2")
    [first] = (await space.pull("q1", 1, lanes=["slow"])).deliveries
    assert await ids(space, "q2") == []
    for _ in lanes:
        assert await ids(space, "q2", lanes=lanes) == []
        await space.clock.advance(1)
    [lone] = (await space.pull("q1", 1, settlement(first, Settle.COMPLETED), lanes=lanes)).deliveries
    assert (first.task_id, lone.task_id) == ("s1", "r1")
    assert await space.do("EXISTS", space.key("apart")) == 0
    assert await ids(space, "q1", 1, settlement(lone, Settle.COMPLETED), lanes=lanes) == ["s2"]
    assert await ids(space, "q2", lanes=lanes) == ["s3"]
    await space.check()


async def test_a_suspect_by_recoveries_that_may_not_start_keeps_nobody_back(space: Namespace) -> None:
    await suspect(space, "s1", "s2", lane="slow")
    await die_together(space, "r1", times=3, charged=False)
    lanes = ["slow", space.queue]
    await enter(space, "q1", "q2")
    assert await ids(space, "q1", lanes=["slow"]) == ["s1"]
    assert await ids(space, "q2", lanes=[space.queue]) == []
    assert await ids(space, "q2", lanes=lanes) == []
    await space.store.pause_lane(space.queue, "repairs")
    assert await ids(space, "q2", lanes=lanes) == ["s2"]
    await space.check()


async def test_a_turn_that_was_kept_for_a_suspect_by_recoveries_is_forgotten_with_it(space: Namespace) -> None:
    await suspect(space, "s1", lane="slow")
    await die_together(space, "r1", times=3, charged=False)
    await enter(space, "q1", "q2")
    assert await ids(space, "q1", lanes=["slow"]) == ["s1"]
    assert await ids(space, "q2") == []
    assert await space.do("HGETALL", space.key("apart")) != {}
    await space.store.cancel("r1", "enough")
    await space.store.suspects([space.queue])
    assert await space.do("EXISTS", space.key("apart")) == 0
    await space.check()


async def test_what_is_remembered_of_deaths_is_bounded_and_trimmed(space: Namespace) -> None:
    names = [f"t{i}" for i in range(150)]
    await space.submit(*names)
    await space.register("a")
    assert len(await space.take("a", 150)) == 150
    await space.crash("a")
    assert await space.do("HLEN", space.key("death:a")) == 128
    await space.check()
    await space.clock.advance(86_400_001)
    await space.register("b")
    await space.take("b", 2)
    await space.crash("b")
    assert await space.do("ZRANGE", space.key("deaths"), 0, -1) == [b"b"]
    await space.check()


async def test_a_task_remembers_its_last_deaths(space: Namespace) -> None:
    for number in range(12):
        await die_together(space, "t1", f"x{number}", times=1, charged=False)
        name = f"between{number}"
        await space.register(name)
        for held in await space.take(name):
            await space.settle(name, held, Settle.COMPLETED if held.task_id != "t1" else Settle.RETRY)
        await space.crash(name, charged=False, ordered=True)
        await space.clock.advance(1)
        await space.store.promote(10)
    assert len((await space.do("HGET", space.key("task:t1"), "deaths")).split()) == 8
    await space.check()
