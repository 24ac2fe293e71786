"""A task whose handler the worker that meets it does not have waits beside the lane for one that does."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.worker_records import ServedLane, ServedWork, Startable, WorkerKind
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import calling, introduction, run, submission

pytestmark = pytest.mark.anyio


async def serving(
    space: Namespace, incarnation: str, *names: str, lane: str = "", kind: WorkerKind = WorkerKind.WORKER
) -> None:
    """Register a worker with these handlers; the empty name is a default one. Without names it runs tasks of any."""
    service = ServedWork((ServedLane(lane or space.queue),), frozenset(names) if names else None)
    await space.store.register(replace(introduction(incarnation, kind=kind), service=service))


async def taken(space: Namespace, worker: str, slots: int = 10) -> list[str]:
    """Of several workers each takes its share only, so it asks until it gets nothing."""
    found: list[str] = []
    while more := await space.take(worker, slots - len(found)):
        found += [delivery.task_id for delivery in more]
    return found


async def hints(space: Namespace, worker: str) -> list[bytes]:
    found = await space.do("LRANGE", space.keys["control"] + worker, 0, -1)
    await space.do("DEL", space.keys["control"] + worker)
    return list(found)


async def test_it_waits_uncharged_and_keeps_nobody_back(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x", name="new")
    await space.submit("y", name="known")
    assert await taken(space, "a") == ["y"]
    record = await space.task("x")
    assert (record.state, record.deliveries, record.attempts) == ("submitted", 0, 0)
    assert (await space.entries()) == []
    await space.check()


async def test_the_worker_that_has_its_handler_takes_it(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x1", "x2", name="new")
    assert await taken(space, "a") == []
    await serving(space, "b", "known", "new")
    assert await taken(space, "b") == ["x1", "x2"]
    snapshot = await space.check()
    assert space.key("unserved") not in snapshot
    assert space.key("clocks") not in snapshot


async def test_a_plain_handler_and_a_worker_that_names_none_take_every_name(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x1", name="new")
    await space.submit("x2", name="newer")
    assert await taken(space, "a") == []
    await serving(space, "plain")
    assert await taken(space, "plain", 1) == ["x1"]
    await space.register("silent")
    assert await taken(space, "silent") == ["x2"]
    await space.check()


async def test_tasks_without_a_name_wait_where_there_is_no_default(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x")
    await space.push(run("y"))
    assert await taken(space, "a") == []
    await serving(space, "b", "")
    assert await taken(space, "b") == ["x", "y"]
    await space.check()


async def test_foreign_tasks_wait_in_their_order(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.push(calling("x1", "new"), calling("x2", "new"), calling("y", "known"))
    assert await taken(space, "a") == ["y"]
    await serving(space, "b", "new")
    assert await taken(space, "b") == ["x1", "x2"]
    await space.check()


async def test_gates_are_taken_from_in_the_order_of_numbers(space: Namespace) -> None:
    await serving(space, "a", "known")
    for number, name in enumerate(["new", "newer", "new", "never", "newer"]):
        await space.submit(f"x{number}", name=name)
    assert await taken(space, "a") == []
    await serving(space, "b", "new", "newer")
    assert await taken(space, "b") == ["x0", "x1", "x2", "x4"]
    await space.check()


async def test_with_a_key_it_holds_up_nobody_of_its_key(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x", name="new", concurrency_key="k")
    await space.submit("y1", "y2", name="known", concurrency_key="k")
    await space.submit("x2", name="new", concurrency_key="k")
    await space.submit("y3", name="known", concurrency_key="k")
    ran: list[str] = []
    while deliveries := await space.take("a"):
        ran += [one.task_id for one in deliveries]
        await space.check()
        for one in deliveries:
            await space.settle("a", one, Settle.COMPLETED)
    assert ran == ["y1", "y2", "y3"]
    await serving(space, "b", "new")
    assert await taken(space, "b") == ["x"]  # one of a key at a time, as ever
    await space.check()


async def test_one_at_the_gate_of_its_key_goes_aside_from_there(space: Namespace) -> None:
    await serving(space, "a", "known")
    await serving(space, "plain")
    await space.submit("y1", name="known", concurrency_key="k")
    await space.submit("x", name="new", concurrency_key="k")
    await space.submit("y2", name="known", concurrency_key="k")
    [first] = await space.take("plain", 1)
    assert await taken(space, "plain") == []
    await space.crash("plain", charged=False)
    assert first.task_id == "y1"
    ran: list[str] = []
    while deliveries := await space.take("a"):
        ran += [one.task_id for one in deliveries]
        for one in deliveries:
            await space.settle("a", one, Settle.COMPLETED)
    assert ran == ["y1", "y2"]
    assert await space.state("x") == "submitted"
    await space.check()


async def test_those_who_have_its_handler_are_told(space: Namespace) -> None:
    await serving(space, "a", "known")
    await serving(space, "b", "new")
    await serving(space, "c", "newer")
    await space.submit("x", name="new")
    assert await taken(space, "a") == []
    assert [await hints(space, one) for one in "abc"] == [[], [b"look"], []]


async def test_who_takes_some_tells_the_others_of_the_rest(space: Namespace) -> None:
    await serving(space, "a", "known")
    await serving(space, "b", "new")
    await serving(space, "c", "new")
    await space.submit("x1", "x2", "x3", name="new")
    assert await taken(space, "a") == []
    for one in "bc":
        await hints(space, one)
    assert await taken(space, "b", 1) == ["x1"]
    assert await hints(space, "c") == [b"look"]
    assert await taken(space, "b", 0) == []
    assert await hints(space, "c") == []  # a full worker takes nothing, and tells nobody: that ends


async def test_it_can_be_canceled_and_paused_at_its_gate(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x", "y", name="new")
    assert await taken(space, "a") == []
    assert await space.store.cancel("x", "no more") == "canceled"
    assert await space.store.pause("y", "later") == "suspended"
    snapshot = await space.check()
    assert space.key("unserved") not in snapshot
    assert await space.store.resume("y", "now") == "submitted"
    assert await taken(space, "a") == []
    await serving(space, "b", "new")
    assert await taken(space, "b") == ["y"]


async def test_clearing_a_lane_takes_those_at_its_gates(space: Namespace) -> None:
    await serving(space, "a", "known")
    await space.submit("x", name="new")
    assert await taken(space, "a") == []
    while await space.store.clear(space.queue, 10):
        pass
    assert await space.state("x") == "canceled"
    await space.check()


TIMEOUT = 600_000
LONGEST_STEP = 10_000  # ms: a longer one counts as this


async def look(space: Namespace, ms: int = 0) -> int:
    """The steps of a slow steward until so much time has passed; answers how many tasks ended."""
    ended = 0
    for passed in range(0, ms, LONGEST_STEP):
        await space.advance(min(LONGEST_STEP, ms - passed))
        ended += await space.store.unserved(TIMEOUT, 100)
    return ended + await space.store.unserved(TIMEOUT, 100)


async def set_aside(space: Namespace) -> None:
    """One task waits for a handler that the only worker has not."""
    await serving(space, "a", "known")
    await space.submit("x", name="new")
    assert await taken(space, "a") == []
    await look(space)


async def test_it_fails_when_nobody_has_served_it_for_so_long(space: Namespace) -> None:
    await set_aside(space)
    assert await look(space, TIMEOUT - 1000) == 0
    assert await look(space, 1000) == 1
    record = await space.task("x")
    assert (record.state, record.dead, record.attempts) == ("failed", True, 0)
    assert record.reason == f"no worker has served handler new in lane {space.queue} for 600 s"
    assert [letter.task_id for letter in (await space.store.dead_letters(10)).tasks] == ["x"]
    assert space.key("clocks") not in await space.check()


async def test_those_who_have_its_handler_look_though_another_has_heard_the_bell(space: Namespace) -> None:
    """The lane was closed when it came, and its one bell went to a worker that has nothing to do with it."""
    await set_aside(space)
    await serving(space, "b", "new")
    await space.store.pause_lane(space.queue, "wait")
    assert await taken(space, "b") == []
    await look(space)
    assert await hints(space, "b") == []  # nothing may start
    await space.store.resume_lane(space.queue)
    assert await taken(space, "a") == []
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    assert await hints(space, "b") == []
    await look(space)
    assert await hints(space, "b") == [b"look"]
    assert await taken(space, "b") == ["x"]
    await space.check()


async def test_one_look_ends_so_many_tasks_however_many_gates_there_are(space: Namespace) -> None:
    await serving(space, "a", "known")
    for number in range(6):
        await space.submit(f"x{number}", name=f"new{number % 3}")
    assert await taken(space, "a") == []
    await look(space)
    for _ in range(TIMEOUT // 10_000):
        await space.advance(10_000)
        ended = await space.store.unserved(TIMEOUT, 4)
    assert ended == 4
    assert await space.store.unserved(TIMEOUT, 4) == 2
    await space.check()


async def test_each_task_has_its_own_time(space: Namespace) -> None:
    await set_aside(space)
    await look(space, TIMEOUT // 2)
    await space.submit("later", name="new")
    assert await taken(space, "a") == []
    assert await look(space, TIMEOUT // 2) == 1
    assert await space.state("later") == "submitted"
    assert await look(space, TIMEOUT // 2) == 1


async def test_the_time_stands_while_its_lane_is_paused(space: Namespace) -> None:
    await set_aside(space)
    await look(space, TIMEOUT // 2)
    await space.store.pause_lane(space.queue, "no mail today")
    assert await look(space, 2 * TIMEOUT) == 0
    await space.store.resume_lane(space.queue)
    assert await look(space, TIMEOUT // 2 - 1000) == 0
    assert await look(space, 1000) == 1


async def test_the_time_begins_anew_when_the_last_who_served_it_has_gone(space: Namespace) -> None:
    await set_aside(space)
    await look(space, TIMEOUT - 1000)
    await serving(space, "b", "new")
    assert await look(space, 2 * TIMEOUT) == 0  # it is full, or quiet: that is no reason
    await space.crash("b")
    assert await look(space, TIMEOUT - 1000) == 0
    assert await look(space, 1000) == 1


async def test_a_worker_of_another_lane_or_one_that_drains_does_not_serve_it(space: Namespace) -> None:
    await set_aside(space)
    await serving(space, "b", "new", lane=space.key("lane:other"))
    await serving(space, "c", "new")
    await space.store.renew("c", "draining", 0, [], [space.queue])
    assert await look(space, TIMEOUT) == 1


async def test_an_hour_between_two_looks_is_no_hour_of_waiting(space: Namespace) -> None:
    """No steward was there, or the clock was set forward."""
    await set_aside(space)
    await space.advance(3_600_000)
    assert await look(space) == 0
    assert await space.state("x") == "submitted"


async def test_names_that_no_worker_has_any_more_are_forgotten(space: Namespace) -> None:
    await serving(space, "a", "known")
    await serving(space, "b", "new")
    await look(space)
    assert await space.do("SCARD", space.key("handlers")) == 2
    await space.crash("b")
    await look(space)
    assert await space.do("SCARD", space.key("handlers")) == 1
    await space.do("SADD", space.key("handlers"), "seen by nobody")
    await look(space)
    assert await space.do("SCARD", space.key("handlers")) == 2, "all workers were looked at though none came or went"
    await serving(space, "c", "known")
    await look(space)
    assert await space.do("SCARD", space.key("handlers")) == 1
    await space.submit("x", name="known")
    assert await taken(space, "a") == ["x"]
    await space.check()


async def test_a_burst_does_not_wait_for_it(space: Namespace) -> None:
    await set_aside(space)
    assert await space.store.left([space.queue]) == (False, None, 1)
    await serving(space, "b", "new")
    assert await space.store.left([space.queue]) == (True, None, 0)


async def crash_into_suspicion(space: Namespace, task_id: str = "x") -> None:
    """It ends its worker until it is a suspect, and is due."""
    for number in range(2):
        worker = f"{task_id}-c{number}"
        await serving(space, worker)
        assert await taken(space, worker) == [task_id]
        await space.crash(worker)
        await space.advance(30_000)
        await space.store.promote(10)


async def quarantine(space: Namespace, incarnation: str, *names: str) -> None:
    service = ServedWork((ServedLane(space.queue),), frozenset(names))
    who = introduction(incarnation, kind=WorkerKind.QUARANTINE)
    await space.store.register(replace(who, service=service))


async def test_a_suspect_waits_at_the_gate_of_its_handler_and_goes_from_there_to_the_suspects(space: Namespace) -> None:
    await space.submit("x", name="new")
    await crash_into_suspicion(space)
    await quarantine(space, "q", "known")
    assert await taken(space, "q") == []
    assert (await space.check())[space.key("task:x")]["content"]["held"] == "unknown:new"
    assert (await space.store.suspects([space.queue])).startable == 0
    await serving(space, "b", "new")
    assert await taken(space, "b") == []
    assert (await space.store.suspects([space.queue])).startable == 1
    await quarantine(space, "q2", "new")
    assert await taken(space, "q2", 1) == ["x"]
    await space.check()


async def test_a_suspect_that_goes_aside_from_the_gate_of_its_key_is_offered_no_more(space: Namespace) -> None:
    await space.store.submit([submission("x", space.queue, name="new", concurrency_key="k")])
    await crash_into_suspicion(space)
    await serving(space, "a", "known")
    await space.store.submit([submission("t", space.queue, name="known", concurrency_key="k")])
    [held] = await space.take("a")
    assert (await space.store.suspects([space.queue])).startable == 0
    await space.settle("a", held, Settle.COMPLETED)
    assert (await space.store.suspects([space.queue])).startable == 1
    await space.clock.advance(1_000)  # then its gate is looked at again
    assert await taken(space, "a") == []
    assert (await space.check())[space.key("task:x")]["content"]["held"] == "unknown:new"
    assert await space.do("ZCARD", space.key(f"suspects:{space.queue}")) == 0


async def test_a_pool_counts_and_claims_no_suspect_whose_handler_another_has(space: Namespace) -> None:
    """Else its quarantine workers would be forked for it in vain, and pass it to and fro."""
    await space.submit("x", name="new")
    await crash_into_suspicion(space)
    await serving(space, "a", "known")
    await serving(space, "b", "new")
    await quarantine(space, "qa", "known")
    assert await taken(space, "qa") == []
    assert (await space.check())[space.key("task:x")]["content"].get("held", "") == ""
    found = {who: (await space.store.suspects([space.queue], [who])).startable for who in ("a", "b", "unregistered")}
    assert found == {"a": 0, "b": 1, "unregistered": 1}
    await quarantine(space, "qb", "new")
    assert await taken(space, "qb", 1) == ["x"]
    await space.check()


async def test_a_suspect_whose_handler_nobody_has_goes_to_its_gate_without_a_fork(space: Namespace) -> None:
    await space.submit("x", name="new")
    await crash_into_suspicion(space)
    await serving(space, "a", "known")
    assert (await space.store.suspects([space.queue], ["a"])).startable == 0
    assert (await space.check())[space.key("task:x")]["content"].get("held") == "unknown:new"
    await serving(space, "b", "new")
    assert await taken(space, "b") == []
    assert (await space.store.suspects([space.queue], ["b"])).startable == 1
    await space.check()


async def test_one_whose_handler_another_has_takes_no_place_of_its_lane(space: Namespace) -> None:
    await space.submit("x", name="new")
    await crash_into_suspicion(space)
    await space.submit("y", name="known")
    await crash_into_suspicion(space, "y")
    await space.store.declare("here", [LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await serving(space, "a", "known")
    await serving(space, "b", "new")
    assert (await space.store.suspects([space.queue], ["a"])).startable == 1
    await quarantine(space, "qa", "known")
    assert await taken(space, "qa", 1) == ["y"]
    await space.check()


async def test_who_cannot_fork_runs_a_suspect_whose_handler_no_supervisor_has(space: Namespace) -> None:
    """A supervisor that has others is no reason to leave it."""
    await space.submit("x", name="new")
    await crash_into_suspicion(space)
    await serving(space, "w", "known", kind=WorkerKind.WORKER)
    await serving(space, "a", "known", kind=WorkerKind.SINGLE)
    await serving(space, "b", "new", kind=WorkerKind.SINGLE)
    await space.submit("y1", "y2", name="known")
    assert await space.store.suspects([space.queue], ["w"]) == Startable(0, 0)
    assert await hints(space, "b") == [b"look"]
    assert len(await taken(space, "a", 1)) == 1
    assert len(await space.take("a", 1)) == 1  # it waits for no suspect that it cannot run
    assert await taken(space, "b", 1) == ["x"]
    await space.check()


async def test_a_suspect_whose_handler_is_missing_holds_up_nobody_of_its_key(space: Namespace) -> None:
    await space.submit("x", name="new", concurrency_key="k")
    await crash_into_suspicion(space)
    await quarantine(space, "q", "known")
    assert await taken(space, "q") == []
    await serving(space, "a", "known")
    await space.submit("y", name="known", concurrency_key="k")
    assert await taken(space, "a") == ["y"]
    await space.check()


async def test_a_quarantine_worker_serves_no_gate(space: Namespace) -> None:
    """It takes suspects alone, and ends soon."""
    await set_aside(space)
    await quarantine(space, "q", "new")
    assert await look(space, TIMEOUT) == 1


async def commands(space: Namespace) -> int:
    """How many commands the server has carried out, those of scripts included."""
    told = await space.do("INFO", "commandstats")
    return sum(int(one["calls"]) for one in told.values())


LOOK = 4  # commands of a pull where tasks wait for another handler


async def test_a_thousand_unknown_tasks_do_not_slow_a_lane(server_url: str) -> None:
    """They are looked at once, a few in each pull; afterwards a pull works as much as without them, but for a look."""
    async with namespace(server_url) as space:
        await serving(space, "a", "known")

        async def one_by_one() -> int:
            await space.submit(*(f"{uuid4()}" for _ in range(20)), name="known")
            before = await commands(space)
            for _ in range(20):
                [delivery] = await space.take("a", 1)
                await space.settle("a", delivery, Settle.COMPLETED)
            return await commands(space) - before

        without = await one_by_one()
        for number in range(1000):
            await space.submit(f"x{number}", name=f"new{number % 100}")
        pulls = 0
        while await space.entries():
            assert await space.take("a", 1) == []
            pulls += 1
        assert pulls <= 1000 // 64 + 1
        assert await one_by_one() <= without + LOOK * 2 * 20  # two pulls for each of the twenty tasks
        await space.check()


async def test_what_was_published_of_a_handler_is_forgotten_with_its_last_worker(space: Namespace) -> None:
    published = [PublishedHandler(name) for name in ("", "known", "new")]
    await space.store.publish_handlers(published)
    await serving(space, "a", "known")
    await serving(space, "b", "known", "new")
    await look(space)
    assert await space.store.published_handlers() == tuple(published)
    await space.crash("b")
    await look(space)
    assert [each.name for each in await space.store.published_handlers()] == ["", "known"]
    await space.check()
