"""From which end a lane is filled: entries pushed at its head are seen, and nothing else is taken for them."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from holdfast.core.lanes import WRONG_END_TOLD_MS, LaneBound, LaneLimit, LaneState
from holdfast.core.store_info import LaneHead
from holdfast.store.redis.lanes import watched
from holdfastd.steward.duties.bells import WARN_EVERY, WrongEndDetector
from tests.lua.namespace import Namespace
from tests.lua.operations import LARGE, run

pytestmark = pytest.mark.anyio

A, B, C, D = (run(name) for name in "abcd")


class LaneWatch:
    """Looks at a lane; each look is compared with the one before."""

    def __init__(self, space: Namespace) -> None:
        self._space = space
        self.head = LaneHead()
        self.pushed_at_head = False

    async def look(self) -> None:
        self.head = await self._space.store.look_at_front(self._space.queue, self.head)
        self.pushed_at_head = self.pushed_at_head or self.head.pushed > 0


@pytest.fixture
async def watch(space: Namespace) -> LaneWatch:
    """Has looked once, at a lane that holds A and B."""
    await space.push(A, B)
    made = LaneWatch(space)
    await made.look()
    return made


async def sees_pushes_at_the_head(watch: LaneWatch) -> bool:
    await watch.look()
    return watch.pushed_at_head


async def test_a_producer_that_pushes_at_the_head_is_seen(space: Namespace, watch: LaneWatch) -> None:
    await space.do("LPUSH", space.queue, C)
    assert await sees_pushes_at_the_head(watch)
    await space.do("LPOP", space.queue)
    assert await sees_pushes_at_the_head(watch), "what was seen once stays seen"


async def test_a_fast_one_is_seen_as_well(space: Namespace, watch: LaneWatch) -> None:
    await space.do("LPUSH", space.queue, *(run(f"t{number}") for number in range(900)))
    assert await sees_pushes_at_the_head(watch)
    assert watch.head.length == 902


async def test_pushing_at_the_tail_and_taking_from_the_head_is_as_it_should_be(
    space: Namespace, watch: LaneWatch
) -> None:
    await space.push(C, D)
    assert not await sees_pushes_at_the_head(watch)
    await space.do("LPOP", space.queue)
    assert not await sees_pushes_at_the_head(watch)
    await space.do("DEL", space.queue)
    assert not await sees_pushes_at_the_head(watch)


async def test_what_was_taken_and_pushed_again_is_no_sign(space: Namespace, watch: LaneWatch) -> None:
    await space.push(C)
    await space.do("LPOP", space.queue)
    await space.push(A)
    assert not await sees_pushes_at_the_head(watch)


async def test_a_batch_that_was_pushed_twice_is_no_sign(space: Namespace, watch: LaneWatch) -> None:
    await space.push(C, A, B)
    assert not await sees_pushes_at_the_head(watch)
    await space.do("LPOP", space.queue, 2)
    assert not await sees_pushes_at_the_head(watch)


async def test_own_entries_that_went_back_to_the_head_are_no_sign(space: Namespace, watch: LaneWatch) -> None:
    await space.do("DEL", space.queue)
    await space.register("w")
    await space.submit(*(f"t{number}" for number in range(100)))
    await space.push(A, B)
    await space.take("w", 100)
    await watch.look()
    assert await space.crash("w") == 100
    assert not await sees_pushes_at_the_head(watch)
    assert watch.head.length == 102


async def test_large_entries_that_went_back_to_the_head_are_no_sign(space: Namespace, watch: LaneWatch) -> None:
    await space.do("LPUSH", space.queue, run("large", text="x" * LARGE))
    assert not await sees_pushes_at_the_head(watch)


async def test_a_missing_lane_and_a_key_of_another_kind_are_told_by_their_type(space: Namespace) -> None:
    await space.do("SET", f"{space.queue}:high", "x")
    lanes = await watched(space.store.connection, [space.queue, f"{space.queue}:high"], 0.0)
    assert [(lane.kind, lane.length) for lane in lanes] == [("none", 0), ("string", 0)]


async def test_a_backlog_that_stands_is_seen_by_what_came_before_it(space: Namespace, watch: LaneWatch) -> None:
    await space.do("LPUSH", space.queue, C)
    await watch.look()
    watch.pushed_at_head = False
    await space.do("LPOP", space.queue)
    await space.do("LPUSH", space.queue, D)
    assert await sees_pushes_at_the_head(watch)


async def test_what_stood_before_them_already_was_not_pushed_there(space: Namespace) -> None:
    watch = LaneWatch(space)
    await space.push(*(run(f"t{each}") for each in range(100)))
    for number in range(60):
        assert not await sees_pushes_at_the_head(watch)
        await space.do("LPOP", space.queue)
        await space.push(run(f"later{number}"))


async def lane_of(space: Namespace) -> LaneState | None:
    """The count that `status` and `doctor` show of the lane, if there is one."""
    return next((one for one in (await space.store.lanes([])).lanes if one.name == space.queue), None)


async def counted(space: Namespace) -> int:
    lane = await lane_of(space)
    return lane.wrong_end if lane else 0


async def test_what_several_stewards_see_is_counted_once(space: Namespace) -> None:
    await space.push(A, B)
    stewards = [WrongEndDetector(space.store, space.queue) for _ in "abc"]
    for pushed in ([], [C, D], [run("e")]):
        if pushed:
            await space.do("LPUSH", space.queue, *pushed)
        for steward in stewards:
            await steward.look()
    assert await counted(space) == 3
    await space.check()


async def test_another_steward_goes_on_counting_after_one_that_is_gone(space: Namespace) -> None:
    await space.push(A, B)
    gone, left = WrongEndDetector(space.store, space.queue), WrongEndDetector(space.store, space.queue)
    await gone.look()
    await space.do("LPUSH", space.queue, C)
    await gone.look()
    await left.look()
    await space.advance(60_001)
    await space.do("LPUSH", space.queue, D)
    await left.look()
    assert await counted(space) == 2


async def test_a_lane_that_is_served_from_its_tail_by_now_has_no_count(space: Namespace) -> None:
    """The steward had looked before the end was set, and says so after it."""
    await space.store.bound([LaneLimit(LaneBound.END, space.queue, "tail")])
    assert await space.store.note_wrong_end(space.queue, LaneHead(pushed=2), "steward") == 0
    assert await counted(space) == 0


@pytest.mark.parametrize("since", ["trimmed", "seen again"])
async def test_what_was_seen_a_day_ago_is_forgotten(space: Namespace, since: str) -> None:
    assert await space.store.note_wrong_end(space.queue, LaneHead(pushed=2), "steward") == 2
    await space.advance(WRONG_END_TOLD_MS)
    await space.store.trim(0, 10)
    assert await counted(space) == 2
    await space.advance(1)
    if since == "trimmed":
        await space.store.trim(0, 10)
        assert await lane_of(space) is None
    else:
        assert await space.store.note_wrong_end(space.queue, LaneHead(pushed=1), "steward") == 1


async def test_a_fault_that_goes_on_is_told_once_an_hour(space: Namespace) -> None:
    clock = [0.0]
    await space.push(A, B)
    steward = WrongEndDetector(space.store, space.queue, lambda: clock[0])
    told: list[int] = []
    with capture_logs() as log:
        for number, clock[0] in enumerate((0.0, 1.0, WARN_EVERY - 1, WARN_EVERY, WARN_EVERY + 1)):
            await steward.look()
            await space.do("LPUSH", space.queue, run(f"later{number}"))
            await steward.look()
            told.append(len(log))
    assert told == [1, 1, 1, 2, 2]
    assert [line["seen"] for line in log] == [1, 4]


async def test_an_end_that_is_set_ends_the_count(space: Namespace) -> None:
    await space.push(A, B)
    front = await space.store.look_at_front(space.queue, LaneHead())
    await space.do("LPUSH", space.queue, C, D)
    front = await space.store.look_at_front(space.queue, front)
    assert front.pushed == 2
    assert [await space.store.note_wrong_end(space.queue, front, "steward") for _ in "ab"] == [2, 4]
    assert (await space.store.look_at_front(space.queue, front)).pushed == 0
    assert await counted(space) == 4
    await space.check()
    await space.store.bound([LaneLimit(LaneBound.END, space.queue, "tail")])
    assert await counted(space) == 0
