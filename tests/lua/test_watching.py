"""From which end a lane is filled: entries pushed at its head are seen, and nothing else is taken for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.broker.redis.watching import Watch, watched
from holdfast.core.facts import Front
from holdfast.core.lanes import Bound, Rule
from tests.lua.namespace import Namespace
from tests.lua.operations import LARGE, run

pytestmark = pytest.mark.anyio

A, B, C, D = (run(name) for name in "abcd")


@pytest.fixture
async def watch(space: Namespace) -> Watch:
    """Has looked once, at a lane that holds A and B."""
    await space.push(A, B)
    made = Watch(space.store._connection, space.queue)
    await made.look()
    return made


async def sees_pushes_at_the_head(watch: Watch) -> bool:
    await watch.look()
    return watch.facts.pushed_at_head


async def test_a_producer_that_pushes_at_the_head_is_seen(space: Namespace, watch: Watch) -> None:
    await space.do("LPUSH", space.queue, C)
    assert await sees_pushes_at_the_head(watch)
    await space.do("LPOP", space.queue)
    assert await sees_pushes_at_the_head(watch), "what was seen once stays seen"


async def test_a_fast_one_is_seen_as_well(space: Namespace, watch: Watch) -> None:
    await space.do("LPUSH", space.queue, *(run(f"t{number}") for number in range(900)))
    assert await sees_pushes_at_the_head(watch)
    assert watch.facts.length == 902


async def test_pushing_at_the_tail_and_taking_from_the_head_is_as_it_should_be(space: Namespace, watch: Watch) -> None:
    await space.push(C, D)
    assert not await sees_pushes_at_the_head(watch)
    await space.do("LPOP", space.queue)
    assert not await sees_pushes_at_the_head(watch)
    await space.do("DEL", space.queue)
    assert not await sees_pushes_at_the_head(watch)


async def test_what_was_taken_and_pushed_again_is_no_sign(space: Namespace, watch: Watch) -> None:
    await space.push(C)
    await space.do("LPOP", space.queue)
    await space.push(A)
    assert not await sees_pushes_at_the_head(watch)


async def test_a_batch_that_was_pushed_twice_is_no_sign(space: Namespace, watch: Watch) -> None:
    await space.push(C, A, B)
    assert not await sees_pushes_at_the_head(watch)
    await space.do("LPOP", space.queue, 2)
    assert not await sees_pushes_at_the_head(watch)


async def test_own_entries_that_went_back_to_the_head_are_no_sign(space: Namespace, watch: Watch) -> None:
    await space.do("DEL", space.queue)
    await space.register("w")
    await space.submit(*(f"t{number}" for number in range(100)))
    await space.push(A, B)
    await space.take("w", 100)
    await watch.look()
    assert await space.crash("w") == 100
    assert not await sees_pushes_at_the_head(watch)
    assert watch.facts.length == 102


async def test_large_entries_that_went_back_to_the_head_are_no_sign(space: Namespace, watch: Watch) -> None:
    await space.do("LPUSH", space.queue, run("large", text="x" * LARGE))
    assert not await sees_pushes_at_the_head(watch)


async def test_a_missing_lane_and_a_key_of_another_kind_are_told_by_their_type(space: Namespace) -> None:
    await space.do("SET", f"{space.queue}:high", "x")
    lanes = await watched(space.store._connection, [space.queue, f"{space.queue}:high"], 0.0)
    assert [(lane.kind, lane.length) for lane in lanes] == [("none", 0), ("string", 0)]


async def test_a_backlog_that_stands_is_seen_by_what_came_before_it(space: Namespace, watch: Watch) -> None:
    await space.do("LPUSH", space.queue, C)
    await watch.look()
    watch.facts = replace(watch.facts, pushed_at_head=False)
    await space.do("LPOP", space.queue)
    await space.do("LPUSH", space.queue, D)
    assert await sees_pushes_at_the_head(watch)


async def test_what_stood_before_them_already_was_not_pushed_there(space: Namespace) -> None:
    watch = Watch(space.store._connection, space.queue)
    await space.push(*(run(f"t{each}") for each in range(100)))
    for number in range(60):
        assert not await sees_pushes_at_the_head(watch)
        await space.do("LPOP", space.queue)
        await space.push(run(f"later{number}"))


async def test_how_many_were_pushed_is_counted(space: Namespace) -> None:
    await space.push(A, B)
    front = await space.store.look_at_front(space.queue, Front())
    await space.do("LPUSH", space.queue, C, D)
    front = await space.store.look_at_front(space.queue, front)
    assert front.pushed == 2
    assert [await space.store.note_wrong_end(space.queue, front.pushed) for _ in "ab"] == [2, 4]
    assert (await space.store.look_at_front(space.queue, front)).pushed == 0
    [lane] = [one for one in (await space.store.lanes([])).lanes if one.name == space.queue]
    assert lane.wrong_end == 4
    await space.check()
    await space.store.bound([Rule(Bound.END, space.queue, "tail")])
    assert [one.wrong_end for one in (await space.store.lanes([])).lanes] == [0]
