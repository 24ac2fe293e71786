"""Left: whether a burst may end, seen in one look at the lanes of its pool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import LARGE, run, submission

pytestmark = pytest.mark.anyio

Scene = Callable[[Namespace], Awaitable[object]]


async def submitted(space: Namespace) -> None:
    await space.submit("t1")


async def pushed(space: Namespace) -> None:
    await space.push(run("f1"))


async def pushed_to_another_lane_of_the_pool(space: Namespace) -> None:
    await space.push(run("f1"), lane=space.key("lane:second"))


async def running(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")


async def unread(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1", text="x" * LARGE))
    assert (await space.pull("a")).inbox == 1


async def stolen(space: Namespace) -> None:
    await space.submit("t1")
    await space.do("DEL", space.queue)


async def alone(space: Namespace) -> None:
    await space.submit("t1")
    for name in ("x", "y"):
        await space.register(name)
        await space.take(name)
        await space.crash(name)
    await space.clock.advance(5_000)
    assert await space.store.promote(10) == (1, None)
    assert await space.entries() == []


async def due(space: Namespace) -> None:
    await space.store.submit([submission("t1", space.queue, delay_ms=500)])
    await space.clock.advance(500)


async def nothing(space: Namespace) -> None:
    pass


async def ended(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED)


async def parked(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)


async def set_aside(space: Namespace) -> None:
    await space.register("a")
    await space.push(b"not json")
    await space.pull("a")


async def strange(space: Namespace) -> None:
    """Work of a pool that serves another lane of this namespace."""
    other = space.key("lane:other")
    await space.register("a")
    await space.push(run("f1"), run("f2"), lane=other)
    assert len((await space.pull("a", 1, lanes=["other"])).deliveries) == 1


KEEPING = [submitted, pushed, pushed_to_another_lane_of_the_pool, running, unread, stolen, alone, due]
LETTING_GO = [nothing, ended, parked, set_aside, strange]


async def left(space: Namespace) -> bool:
    found, _, _ = await space.store.left([space.queue, space.key("lane:second")])
    return found


@pytest.mark.parametrize("scene", KEEPING)
async def test_what_is_to_be_done_by_this_pool_is_left(space: Namespace, scene: Scene) -> None:
    await scene(space)
    assert await left(space)


@pytest.mark.parametrize("scene", LETTING_GO)
async def test_what_is_not_is_not(space: Namespace, scene: Scene) -> None:
    await scene(space)
    assert not await left(space)


async def test_the_next_due_time_of_what_is_delayed_is_told(space: Namespace) -> None:
    assert await space.store.left([space.queue]) == (False, None, 0)
    await space.store.submit([submission("t1", space.queue, delay_ms=500)])
    assert await space.store.left([space.queue]) == (False, 500, 0)
