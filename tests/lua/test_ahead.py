"""Claims ahead: beyond the slots of a worker, where nothing bounds the tasks; others that are idle ask for them."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.worker_records import WorkerKind
from tests.conformance.stand import settlement
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio


async def ahead(space: Namespace, worker: str = "a", slots: int = 2, more: int = 3) -> list[str]:
    return [one.task_id for one in (await space.pull(worker, slots, ahead=more)).deliveries]


async def told(space: Namespace, worker: str) -> list[bytes]:
    words: list[bytes] = await space.do("LRANGE", space.key(f"control:{worker}"), 0, -1)
    return words


async def test_so_many_more_are_claimed_in_their_order(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(9)))
    assert await ahead(space) == ["t0", "t1", "t2", "t3", "t4"]
    assert await ahead(space, slots=0, more=1) == ["t5"]
    assert await ahead(space, slots=1, more=0) == ["t6"]
    await space.check()


async def test_a_share_is_a_share_of_all(space: Namespace) -> None:
    """Eight tasks land on eight workers."""
    await space.register("a", "b")
    await space.submit("t1", "t2", "t3", "t4")
    assert await ahead(space) == ["t1", "t2"]
    assert await ahead(space, "b") == ["t3"]
    await space.check()


async def test_the_same_request_gives_the_same_claims_again(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(9)))
    first = await space.pull("a", 2, ahead=3)
    again = await space.pull("a", 2, ahead=3, request=1)
    assert again.deliveries == first.deliveries
    await space.check()


@pytest.mark.parametrize("kind", [WorkerKind.SINGLE, WorkerKind.QUARANTINE])
async def test_only_workers_of_a_pool_claim_ahead(space: Namespace, kind: WorkerKind) -> None:
    await space.register("a", kind=kind)
    await space.submit(*(f"t{n}" for n in range(9)))
    assert len(await ahead(space)) == (2 if kind is WorkerKind.SINGLE else 0)
    await space.check()


async def test_nothing_is_claimed_ahead_in_a_queue_with_bounds(space: Namespace) -> None:
    await space.register("a")
    await space.store.declare("here", [LaneLimit(LaneBound.LIMIT, space.queue, "100")])
    await space.submit(*(f"t{n}" for n in range(9)))
    assert await ahead(space) == ["t0", "t1"]
    await space.check()


@pytest.mark.parametrize("place", [0, 1, 2, 3])
async def test_a_task_with_a_key_is_never_ahead_nor_passed_over(space: Namespace, place: int) -> None:
    await space.register("a")
    for n in range(6):
        await space.submit(f"t{n}", **({"concurrency_key": "k"} if n == place else {}))
    claimed = await ahead(space)
    assert claimed == [f"t{n}" for n in range(max(2, place))]
    assert await ahead(space, slots=0) == ([] if place >= 2 else ["t2", "t3", "t4"])
    await space.check()


async def test_who_finds_the_lane_empty_asks_for_what_was_claimed_ahead(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(5)))
    held = (await space.pull("a", 2, ahead=3)).deliveries
    await space.register("b")
    assert await ahead(space, "b", slots=0) == []
    assert await told(space, "a") == []  # b has no free slot
    assert await ahead(space, "b") == []
    assert await told(space, "a") == [b"return"]
    assert await ahead(space, "b") == []
    assert await told(space, "a") == [b"return"]  # once
    await space.pull("a", 0, *(settlement(one, Settle.RETURNED) for one in reversed(held[2:])))
    assert await ahead(space, "b", slots=10) == ["t2", "t3"]
    assert (await space.task("t2")).releases == 0
    await space.check()


@pytest.mark.parametrize("end", ["head", "tail"])
async def test_what_several_workers_give_back_stands_in_its_order(space: Namespace, end: str) -> None:
    await space.register("a", "b")
    if end == "tail":
        await space.store.declare("here", [LaneLimit(LaneBound.END, space.queue, "tail")])
    await space.submit(*(f"t{n}" for n in range(9)))
    first = await space.take("a", 3)
    second = await space.take("b", 3)
    for worker, held in (("a", first), ("b", second)):
        await space.pull(worker, 0, *(settlement(one, Settle.RETURNED) for one in reversed(held[1:])))
    ids = [one.task_id for one in await space.take("a", 9)]
    assert ids == sorted(ids)
    await space.check()


@pytest.mark.parametrize("others", [1, 16])
async def test_a_worker_with_several_lanes_asks_too(space: Namespace, others: int) -> None:
    """Also one with so many that its pull is not a usual one."""
    await space.register("a", "b")
    await space.submit(*(f"t{n}" for n in range(8)))
    assert len(await ahead(space)) == 4
    await ahead(space, "a", slots=0, more=10)
    await ahead(space, "a", slots=0, more=10)
    await ahead(space, "a", slots=0, more=10)
    await space.pull("b", 10, lanes=[*(f"other{n}" for n in range(others)), space.queue])
    assert await told(space, "a") == [b"return"]


async def test_who_holds_nothing_ahead_is_not_asked(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1", "t2")
    assert len(await ahead(space, more=0)) == 1
    assert len(await ahead(space, more=0)) == 1
    await ahead(space, "b")
    assert await told(space, "a") == []


async def test_a_pause_and_a_bound_ask_for_what_was_claimed_ahead(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(20)))
    await ahead(space)
    await space.store.pause_lane(space.queue, "stop")
    assert await told(space, "a") == [b"return"]
    await space.store.resume_lane(space.queue)
    await ahead(space)
    await space.store.declare("here", [LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    assert await told(space, "a") == [b"return"] * 2


async def test_the_dead_are_not_asked(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(9)))
    await ahead(space)
    await space.crash("a", begun=["t0", "t1"])
    assert await space.do("EXISTS", space.key("ahead")) == 0
    assert (await space.task("t2")).crashes == 0
    await space.check()


LANES = ["slow", "quick"]


async def fill(space: Namespace, lane: str, number: int) -> None:
    await space.submit(*(f"{lane}{n}" for n in range(number)), lane=lane)


async def of_lanes(space: Namespace, slots: int, more: int, weights: tuple[int, ...] = (1, 1)) -> list[str]:
    pulled = await space.pull("a", slots, lanes=LANES, weights=weights, ahead=more)
    return [one.task_id for one in pulled.deliveries]


async def turns(space: Namespace) -> list[bytes | None]:
    had: list[bytes | None] = await space.do("HMGET", space.key("turns"), *LANES)
    return had


@pytest.mark.parametrize("lane", LANES)
async def test_a_worker_of_several_lanes_claims_ahead_in_the_only_one_that_holds_any(
    space: Namespace, lane: str
) -> None:
    await space.register("a")
    await fill(space, lane, 9)
    assert await of_lanes(space, 2, 3) == [f"{lane}{n}" for n in range(5)]
    await space.check()


@pytest.mark.parametrize(
    ("weights", "claimed"),
    [((1, 1), ["slow0", "slow1", "slow2", "quick0", "quick1"]), ((), ["slow0", "slow1", "slow2", "slow3", "slow4"])],
)
async def test_claims_ahead_of_several_lanes_take_turns(
    space: Namespace, weights: tuple[int, ...], claimed: list[str]
) -> None:
    await space.register("a")
    for lane in LANES:
        await fill(space, lane, 9)
    assert await of_lanes(space, 2, 3, weights) == claimed
    assert await turns(space) == ([b"1", b"0"] if weights else [None, None])
    await space.check()


async def test_the_same_request_gives_the_claims_of_several_lanes_in_the_same_order(space: Namespace) -> None:
    await space.register("a")
    for lane in reversed(LANES):
        await fill(space, lane, 9)
    first = await space.pull("a", 2, lanes=LANES, weights=(1, 1), ahead=3)
    assert [one.task_id for one in first.deliveries] == ["slow0", "slow1", "slow2", "quick0", "quick1"]
    again = await space.pull("a", 2, lanes=LANES, weights=(1, 1), ahead=3, request=1)
    assert again.deliveries == first.deliveries
    await space.check()


async def test_in_order_the_second_lane_gives_what_the_first_does_not_hold(space: Namespace) -> None:
    await space.register("a")
    await fill(space, "slow", 2)
    await fill(space, "quick", 9)
    assert await of_lanes(space, 2, 3, ()) == ["slow0", "slow1", "quick0", "quick1", "quick2"]
    await space.check()


async def test_an_unusual_task_of_several_lanes_ends_all_claims_ahead(space: Namespace) -> None:
    """Else the turn of its lane would count more than was claimed."""
    await space.register("a")
    await fill(space, "slow", 9)
    await fill(space, "quick", 2)
    await space.submit("keyed", lane="quick", concurrency_key="k")
    await fill(space, "later", 1)
    assert await of_lanes(space, 1, 5) == ["slow0"]
    assert await turns(space) == [b"1", b"0"]
    await space.check()


@pytest.mark.parametrize("first", LANES)
async def test_what_is_ahead_of_several_lanes_is_asked_for_by_each(space: Namespace, first: str) -> None:
    """Also where each pull has claimed in one lane alone."""
    [second] = {*LANES} - {first}
    await space.register("a")
    await fill(space, first, 3)
    assert len(await of_lanes(space, 1, 5)) == 3
    await fill(space, second, 3)
    assert len(await of_lanes(space, 1, 5)) == 3
    await space.store.pause_lane(first, "asked")
    assert await told(space, "a") == [b"return"]
    await space.check()


async def test_what_is_ahead_of_both_lanes_is_asked_for_by_each(space: Namespace) -> None:
    await space.register("a")
    for lane in LANES:
        await fill(space, lane, 3)
    assert len(await of_lanes(space, 1, 5)) == 6
    await space.store.pause_lane("quick", "asked")
    assert await told(space, "a") == [b"return"]
    await space.check()


async def test_an_idle_worker_of_several_lanes_asks_in_each(space: Namespace) -> None:
    await space.register("a", "b")
    await fill(space, "quick", 6)
    await of_lanes(space, 0, 9)
    await of_lanes(space, 0, 9)
    await of_lanes(space, 0, 9)
    await space.pull("b", 9, lanes=LANES)
    assert await told(space, "a") == [b"return"]
