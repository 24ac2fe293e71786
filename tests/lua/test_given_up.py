"""Dead letters and what was set aside: listed, put back, deleted."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.lanes import UnreadableEntry
from holdfast.core.task_states import State
from tests.lua.namespace import Namespace
from tests.lua.operations import admission, control, run

pytestmark = pytest.mark.anyio


async def letters(space: Namespace, count: int) -> None:
    """`t0`, `t1`, …: each given up on a second after the one before."""
    await space.register("a")
    for number in range(count):
        await space.submit(f"t{number}")
        [delivery] = await space.take("a")
        await space.pull("a", 0, Settlement(delivery.task_id, delivery.claim, Settle.EXHAUSTED))
        await space.clock.advance(1_000)


async def test_dead_letters_are_listed_in_pages_newest_first(space: Namespace) -> None:
    await letters(space, 5)
    page = await space.store.dead_letters(3)
    assert [task.task_id for task in page.tasks] == ["t4", "t3", "t2"]
    assert all(task.dead for task in page.tasks)
    rest = await space.store.dead_letters(3, page.cursor)
    assert ([task.task_id for task in rest.tasks], rest.cursor) == (["t1", "t0"], "")


async def test_dead_letters_until_a_moment_are_the_older_ones(space: Namespace) -> None:
    await letters(space, 3)
    moment = (await space.task("t1")).finished_ms
    assert [task.task_id for task in (await space.store.dead_letters(9, before_ms=moment)).tasks] == ["t1", "t0"]


async def test_purging_deletes_dead_letters_and_nothing_else(space: Namespace) -> None:
    await letters(space, 3)
    await space.submit("waits", "ended")
    await space.store.cancel("ended", "x")
    await space.store.retry("t2", "x")
    assert await space.store.purge_dead(["t0", "t1", "t2", "waits", "ended", "nobody"]) == 2
    snapshot = await space.check()
    assert not [key for key in snapshot if key.endswith((":t0", ":t1", ":t0:1", ":t1:1"))]
    assert [await space.state(task_id) for task_id in ("t2", "t2.r1", "waits", "ended")] == [
        "failed",
        "submitted",
        "submitted",
        "canceled",
    ]
    counts = await space.store.counts()
    assert (counts.dead, counts.counters["failed"], counts.counters["trimmed"]) == (0, 3, 2)


async def aside(space: Namespace, *entries: bytes, lane: str | None = None) -> list[UnreadableEntry]:
    """The fates of these entries, which a worker has read; newest first."""
    await space.register("a")
    await space.push(*entries, lane=space.keys.lane(lane or space.queue))
    await space.pull("a", lanes=[lane or space.queue])
    return await space.store.unreadable(100)


def one_as_kept(one: UnreadableEntry) -> bytes:
    place = f"{one.size}@{one.lane.replace('%', '%25').replace('|', '%7C')}"
    return f"{one.at_ms}|{place}|{one.reason}|".encode() + one.raw


@pytest.mark.parametrize("lane", ["", "slow", "a|b%7C:high", "x@y:z"])
async def test_what_was_set_aside_goes_back_to_its_lane_as_it_came(space: Namespace, lane: str) -> None:
    raw = control("cancel", "nobody") + b"|\n|"
    [one] = await aside(space, raw, lane=lane or None)
    assert (one.lane, one.raw, one.is_cut) == (lane or space.queue, raw, False)
    await space.do("DEL", space.key(f"bell:{one.lane}"))
    assert await space.store.readmit(one.address) == "back"
    assert await space.entries(space.keys.lane(one.lane)) == [raw]
    assert await space.do("LLEN", space.key(f"bell:{one.lane}")) == 1
    assert await space.store.readmit(one.address) == "gone"
    assert await space.store.connection.run("readmit", one_as_kept(one)) == b"gone"  # two asked at the same time
    assert (await space.store.counts()).unreadable == 0
    await space.check()


async def test_an_entry_that_was_set_aside_too_early_does_its_work_in_the_end(space: Namespace) -> None:
    [one] = await aside(space, control("pause", "t1"))  # it came before its task
    await space.submit("t1")
    await space.store.readmit(one.address)
    [delivery] = await space.take("a")
    assert await space.store.listen("a", [], 5.0) is not None
    await space.settle("a", delivery, Settle.SUSPENDED)
    assert await space.state("t1") == State.SUSPENDED
    await space.check()


async def test_what_was_kept_only_in_part_cannot_go_back(space: Namespace) -> None:
    await space.register("a")
    await space.push(b"{" + b"x" * 70_000)
    await space.pull("a")
    head = await space.store.inbox("a")
    assert head is not None
    assert await space.store.admit("a", admission(head[1])) == "set-aside"
    [one] = await space.store.unreadable(1)
    assert (one.is_cut, one.size, await space.store.readmit(one.address)) == (True, 70_001, "cut")
    assert (await space.store.counts()).unreadable == 1


async def test_messages_and_operations_are_set_aside_with_the_lane_of_their_task(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1", "m1"), run("f1", "m2"), run("f2", "m3"), lane=space.keys.lane("slow"))
    first, second = (await space.pull("a", lanes=["slow"])).deliveries
    await space.settle("a", first, Settle.FAILED)  # m2 waited for it
    await space.settle("a", second, Settle.UNREADABLE, reason="too deep")
    assert [(one.lane, one.raw) for one in await space.store.unreadable(9)] == [
        ("slow", run("f2", "m3")),
        ("slow", run("f1", "m2")),
    ]


async def test_an_entry_has_one_address_as_long_as_it_is_kept(space: Namespace) -> None:
    before = await aside(space, b"one", b"two", b"three")
    assert len({one.address for one in before}) == 3
    assert await space.store.forget_unreadable(before[1].address)
    assert not await space.store.forget_unreadable(before[1].address)
    assert await space.store.unreadable(9) == [before[0], before[2]]
    assert await space.store.unreadable_at(before[2].address) == before[2]
    for address in (before[1].address, "", "x", "1-2"):
        assert await space.store.unreadable_at(address) is None
        assert await space.store.readmit(address) == "gone"


async def test_purging_what_was_set_aside_goes_from_the_oldest_and_stops_at_a_moment(space: Namespace) -> None:
    for number in range(3):
        await aside(space, *[b"{%d" % number] * 4)
        await space.clock.advance(1_000)
    moment = space.clock.now_ms - 2_000
    assert [await space.store.purge_unreadable(moment, 3) for _ in range(4)] == [3, 3, 2, 0]
    assert {one.raw for one in await space.store.unreadable(100)} == {b"{2"}


async def test_entries_that_an_earlier_version_set_aside_are_read_too(space: Namespace) -> None:
    await space.do("RPUSH", space.key("unreadable"), b"1700000000000|3|not a JSON object|abc")
    [one] = await space.store.unreadable(1)
    assert (one.size, one.raw, one.lane) == (3, b"abc", "")
    assert await space.store.readmit(one.address) == "back"
    assert await space.entries() == [b"abc"]
