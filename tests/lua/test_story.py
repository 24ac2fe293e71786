"""The past and the present as the store tells them: the trail, the events stream, a task's place, the dead."""

from __future__ import annotations

import anyio
import pytest

from holdfast.core.delivery import Settle
from holdfast.core.tasks import PlaceInLane
from holdfast.core.trail import read_trail
from holdfast.store.redis.ledger import RedisLedger
from tests.lua.namespace import CAUSE, Namespace, settlement
from tests.lua.operations import run, submission

pytestmark = pytest.mark.anyio


async def trail(space: Namespace, task_id: str = "t1") -> list[str]:
    return [line.split(" ", 1)[1] for line in (await space.task(task_id)).trail]


async def test_the_trail_of_a_usual_task_stands_in_its_record(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    [delivery] = await space.take("w")
    assert await trail(space) == [f"claimed {delivery.claim}"]
    await space.advance(7)
    await space.settle("w", delivery, Settle.COMPLETED)
    assert await space.do("EXISTS", space.key("trail:t1")) == 0
    claimed, settled = read_trail((await space.task("t1")).trail)
    assert (claimed.event, claimed.claim) == ("claimed", delivery.claim)
    assert (settled.event, settled.kind, settled.claim, settled.reason) == ("settled", "completed", delivery.claim, "")
    assert settled.at_ms - claimed.at_ms == 7


async def test_what_is_noted_later_comes_behind_what_stands_in_the_record(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    [first] = await space.take("w")
    await space.settle("w", first, Settle.RELEASE)
    [second] = await space.take("w")
    await space.settle("w", second, Settle.COMPLETED)
    assert await trail(space) == [
        f"claimed {first.claim}",
        f"release {first.claim} ",
        f"claimed {second.claim}",
        f"settled completed 1 {second.claim} ",
    ]


async def test_what_was_noted_before_the_claim_comes_before_it(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    await space.message("t1", "m2")
    await space.advance(1)
    [delivery] = await space.take("w")
    assert await trail(space) == ["message-waits m2", f"claimed {delivery.claim}"]


async def test_what_is_noted_after_a_claim_stands_behind_it(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    [first] = await space.take("w")
    await space.do("RPUSH", space.key("trail:t1"), "9999999999999 message-waits m2")
    await space.settle("w", first, Settle.COMPLETED)
    assert await trail(space) == [
        f"claimed {first.claim}",
        "message-waits m2",
        f"settled completed 1 {first.claim} ",
    ]


async def test_a_ledger_keeps_the_trail_that_stands_in_a_record(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1")
    [delivery] = await space.take("w")
    await space.settle("w", delivery, Settle.COMPLETED)
    [kept] = (await RedisLedger(space.store.connection).dump(["t1"])).tasks
    assert [line.decode() for line in kept.trail] == list((await space.task("t1")).trail)
    assert len(kept.trail) == 2
    assert "claimed" not in dict(kept.record)


async def test_a_trail_tells_until_when_a_task_waits(space: Namespace) -> None:
    await space.register("a", "b")
    await space.store.submit([submission("t1", space.queue, delay_ms=500)])
    await space.clock.advance(500)
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.RETRY, delay_ms=700, reason="busy")
    now = space.clock.now_ms
    assert [line for line in await trail(space) if line.startswith("delayed")] == [
        f"delayed {now}",
        f"delayed {now + 700}",
    ]
    assert (await trail(space))[-2] == f"retry {delivery.claim} busy"
    await space.check()


async def test_a_later_crash_tells_until_when(space: Namespace) -> None:
    await space.submit("t1")
    for worker in ("a", "b"):
        await space.register(worker)
        await space.take(worker)
        await space.crash(worker)
    assert (await trail(space))[-1] == f"delayed {space.clock.now_ms + 5_000}"


async def test_the_dead_are_remembered_with_what_they_held(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit(*(f"t{number}" for number in range(30)))
    held = [delivery.task_id for delivery in await space.take("a", 12)]
    assert len(held) == 12
    await space.crash("a")
    known = await space.store.incarnations(["a", "b", "nobody"])
    assert set(known) == {"a", "b"}
    assert (known["a"].state, known["a"].cause, known["a"].died_ms) == ("dead", CAUSE, space.clock.now_ms)
    assert (known["a"].host, known["a"].held) == ("host", tuple(held[:8]))
    assert (known["b"].state, known["b"].died_ms, known["b"].held) == ("live", None, ())


async def test_a_place_counts_the_entries_before_it(space: Namespace) -> None:
    await space.push(run("f1"), run("f2"))
    await space.submit("t1", "t2")
    assert [await space.store.place(name) for name in ("t1", "t2")] == [PlaceInLane(2, True), PlaceInLane(3, True)]
    await space.do("LPOP", space.queue)
    assert await space.store.place("t2") == PlaceInLane(2, True)


async def test_a_place_far_behind_is_told_as_the_least_it_is(space: Namespace) -> None:
    await space.push(*[b"{}"] * 10_001)
    await space.submit("t1")
    assert await space.store.place("t1") == PlaceInLane(10_000, False)


async def test_a_task_whose_entry_was_taken_has_no_place(space: Namespace) -> None:
    await space.submit("t1")
    await space.do("LPOP", space.queue)
    assert await space.store.place("t1") == PlaceInLane(None, True)


async def test_only_what_is_submitted_has_a_place(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    assert await space.store.place("t1") is None
    assert await space.store.place("nobody") is None


async def test_tasks_that_wait_to_run_alone_are_counted_among_each_other(space: Namespace) -> None:
    await space.submit("t1", "t2", "t3")
    for worker in ("a", "b"):
        await space.register(worker)
        assert len(await space.take(worker, 2)) == 2
        await space.crash(worker)
    await space.clock.advance(5_000)
    await space.store.promote(10)
    assert [await space.store.place(name) for name in ("t1", "t2", "t3")] == [
        PlaceInLane(0, True),
        PlaceInLane(1, True),
        PlaceInLane(0, True),
    ]


async def test_events_are_read_from_a_position_on(space: Namespace) -> None:
    for task_id in ("t1", "t2", "t3"):
        await space.submit(task_id)
    first = await space.store.events("", 2)
    assert [(one.event, one.subject, one.detail) for one in first.events] == [
        ("accepted", "t1", "own"),
        ("accepted", "t2", "own"),
    ]
    rest = await space.store.events(first.events[-1].position, 10)
    assert ([one.subject for one in rest.events], rest.missed) == (["t3"], False)
    assert await space.store.events(rest.events[-1].position, 10) == type(rest)((), False)
    before = await space.store.events_before(rest.events[0].position, 10)
    assert [one.subject for one in before] == ["t2", "t1"]
    assert (await space.store.events_before("", 1))[0] == rest.events[0]


async def test_an_event_of_several_tasks_is_one_of_each(space: Namespace) -> None:
    ids = [f"t{number}" for number in range(1, 21)]
    await space.submit(*ids)
    assert await space.do("XLEN", space.key("events")) == 2  # entries: an entry names 16 tasks at most
    told = await space.store.events("", 10)
    assert [(one.event, one.subject, one.detail) for one in told.events] == [("accepted", each, "own") for each in ids]
    assert await space.store.events_before("", 10) == told.events[::-1]
    [second] = {one.position for one in told.events[16:]}
    assert [one.subject for one in await space.store.events_before(second, 10)] == ids[15::-1]


async def test_an_event_names_only_tasks_with_the_same_detail(space: Namespace) -> None:
    await space.register("w")
    await space.submit("t1", "t2", "t3")
    taken = [*await space.take("w", 2), *await space.take("w", 1)]
    await space.pull("w", 0, *(settlement(one, Settle.COMPLETED) for one in taken))
    told = [(one.event, one.subject, one.detail) for one in (await space.store.events("", 20)).events][-3:]
    first, last = taken[0].claim, taken[2].claim
    assert first != last
    assert told == [
        ("settled", "t1", f"completed 1 {first} "),
        ("settled", "t2", f"completed 1 {first} "),
        ("settled", "t3", f"completed 1 {last} "),
    ]


async def test_a_ledger_reads_each_task_that_an_event_names(space: Namespace) -> None:
    await space.submit("t1", "t2", "t3")
    await space.do("HSET", space.key("meta"), "ledger", "an epoch")
    page = await RedisLedger(space.store.connection).follow("an epoch", "", "", 10)
    assert (page.word, list(page.ids)) == ("ok", ["t1", "t2", "t3"])


async def test_waiting_for_events_ends_with_the_first_one(space: Namespace) -> None:
    await space.submit("t1")
    [last] = await space.store.events_before("", 1)
    async with anyio.create_task_group() as group:
        group.start_soon(space.submit, "t2")
        with anyio.fail_after(20):
            found = await space.store.events(last.position, 10, 60.0)
    assert [one.subject for one in found.events] == ["t2"]
    assert (await space.store.events(found.events[0].position, 10, 0.01)).events == ()


async def test_what_was_trimmed_before_it_was_read_is_told(space: Namespace) -> None:
    stream = space.key("events")
    for task_id in ("t1", "t2", "t3", "t4"):
        await space.submit(task_id)
    [first, second] = (await space.store.events("", 2)).events
    assert not (await space.store.events("0-1", 9)).missed  # before the first of all
    await space.do("XTRIM", stream, "MAXLEN", 3)
    assert not (await space.store.events(second.position, 9)).missed
    assert (await space.store.events(first.position, 9)).missed
    await space.do("XTRIM", stream, "MAXLEN", 1)
    assert (await space.store.events(second.position, 9)).missed
    assert not (await space.store.events("", 9)).missed  # from wherever it begins
