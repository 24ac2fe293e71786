"""A lane served from its tail, for producers that LPUSH: first in, first out, whatever happens to it."""

from __future__ import annotations

import pytest

from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.tasks import PlaceInLane
from tests.lua.namespace import CAUSE, Namespace
from tests.lua.operations import run
from tests.lua.test_inbox import admit_all, large
from tests.lua.test_watching import LaneWatch

pytestmark = pytest.mark.anyio


async def turn(space: Namespace) -> None:
    await space.register("w")
    await space.store.declare("host", [LaneLimit(LaneBound.END, space.queue, "tail")])


async def pushed(space: Namespace, *names: str) -> None:
    """The calls of the producer that this is for."""
    for name in names:
        await space.do("LPUSH", space.queue, run(name))


async def taken(space: Namespace, slots: int = 10, worker: str = "w") -> list[str]:
    return [delivery.task_id for delivery in await space.take(worker, slots)]


async def test_what_is_pushed_at_the_head_is_taken_in_its_order(space: Namespace) -> None:
    await turn(space)
    names = [f"f{number}" for number in range(30)]  # more than is read at once
    await pushed(space, *names)
    assert await taken(space, 40) == names
    await space.check()


async def test_our_own_producers_join_the_same_order(space: Namespace) -> None:
    await turn(space)
    await space.submit("own1")
    await pushed(space, "f1")
    await space.submit("own2")
    assert await taken(space, 1) == ["own1"]
    assert await taken(space) == ["f1", "own2"]
    await space.check()


async def test_what_a_dead_worker_held_goes_back_to_the_front(space: Namespace) -> None:
    await turn(space)
    await space.submit("own1", "own2")
    await pushed(space, "f1", "f2")
    assert await taken(space, 3) == ["own1", "own2", "f1"]
    await space.register("other")
    await space.store.recover("w", CAUSE, charged=False)
    assert await taken(space, worker="other") == ["own1", "own2", "f1", "f2"]
    await space.check()


async def test_large_and_small_entries_stay_in_order(space: Namespace) -> None:
    await turn(space)
    for raw in (run("f1"), large("f2"), large("f3"), run("f4")):
        await space.do("LPUSH", space.queue, raw)
    ran: list[str] = []
    for _ in range(8):
        ran += await taken(space, 10 - len(ran))
        await admit_all(space, "w")
    assert ran == ["f1", "f2", "f3", "f4"]
    await space.check()


async def test_an_unread_inbox_goes_back_to_the_front(space: Namespace) -> None:
    await turn(space)
    for raw in (large("f1"), run("f2")):
        await space.do("LPUSH", space.queue, raw)
    assert (await space.pull("w")).inbox == 1
    await space.store.recover("w", CAUSE, charged=False)
    await space.register("other")
    assert (await space.pull("other")).inbox == 1
    await admit_all(space, "other")
    assert await taken(space, worker="other") == ["f1", "f2"]
    await space.check()


async def test_entries_that_somebody_took_are_put_back_in_order(space: Namespace) -> None:
    await turn(space)
    await space.submit("own1", "own2", "own3")
    await space.do("RPOP", space.queue, 2)
    put_back = 0
    for _ in range(4):
        put_back += (await space.store.audit(space.queue, 10, ""))[0]
    assert put_back == 2
    assert await taken(space) == ["own1", "own2", "own3"]
    await space.check(stolen=True)


async def test_what_is_there_is_not_taken_for_lost(space: Namespace) -> None:
    await turn(space)
    await space.submit(*(f"own{number}" for number in range(100)))
    for _ in range(4):
        assert (await space.store.audit(space.queue, 10, ""))[0] == 0
    await space.check()


async def test_its_front_is_what_is_shown_and_cleared_first(space: Namespace) -> None:
    await turn(space)
    await space.submit("own1", "own2", "own3")
    first, second = await space.store.peek_entries(space.queue, 2)
    assert (b"own1" in first, b"own2" in second) == (True, True)
    assert [await space.store.place(name) for name in ("own1", "own3")] == [
        PlaceInLane(0, exact=True),
        PlaceInLane(2, exact=True),
    ]
    assert await space.store.clear(space.queue, 1) == 1
    assert await taken(space) == ["own2", "own3"]
    await space.check()


@pytest.mark.parametrize(("push", "is_seen"), [("RPUSH", True), ("LPUSH", False)])
async def test_a_producer_at_the_wrong_end_is_seen_here_too(space: Namespace, push: str, is_seen: bool) -> None:
    await turn(space)
    await pushed(space, "a", "b")
    watch = LaneWatch(space)
    await watch.look()
    await space.do(push, space.queue, run("c"))
    await watch.look()
    assert (watch.pushed_at_head, watch.head.turned) == (is_seen, True)


async def test_where_it_is_said_no_more_the_head_is_the_front(space: Namespace) -> None:
    await turn(space)
    await space.store.declare("host", [])
    await space.push(run("f1"), run("f2"))
    await space.submit("own1")
    assert await taken(space) == ["f1", "f2", "own1"]
    await space.check()
