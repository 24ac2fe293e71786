"""Strays: working tasks whose owners are not there are found, and put back on request."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Standing
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio

SILENCE = 20_000


async def strays(space: Namespace, *, put_back: bool, silence: int = SILENCE) -> dict[str, str]:
    """Task → why, through all pages."""
    found: dict[str, str] = {}
    cursor = ""
    while True:
        page = await space.store.strays(cursor, 3, silence, put_back=put_back)
        found |= {stray.task_id: stray.why for stray in page.found}
        cursor = page.cursor
        if not cursor:
            return found


async def working(space: Namespace, *task_ids: str) -> None:
    """Held by `a`; `b` has nothing to do."""
    await space.register("a")
    await space.submit(*task_ids)
    assert len(await space.take("a")) == len(task_ids)
    await space.register("b")


async def test_what_a_living_worker_runs_is_left_alone(space: Namespace) -> None:
    await working(space, "t1", "t2")
    assert await strays(space, put_back=True) == {}
    assert await space.state("t1") == "working"


async def test_a_look_changes_nothing(space: Namespace) -> None:
    await working(space, "t1")
    await space.clock.advance(SILENCE)
    before = await space.check()
    assert await strays(space, put_back=False) == {"t1": "silent"}
    assert await space.check() == before


async def test_tasks_of_a_silent_owner_go_back_uncharged_and_it_is_told(space: Namespace) -> None:
    await working(space, "t1", "t2", "t3", "t4", "t5")
    await space.clock.advance(SILENCE - 1)
    await space.store.renew("b", "live", 0, [])
    assert await strays(space, put_back=True) == {}
    await space.clock.advance(1)
    found = await strays(space, put_back=True)
    assert set(found.values()) == {"silent"}
    assert (await space.pull("a")).standing is Standing.DEAD
    assert [delivery.task_id for delivery in await space.take("b")] == ["t1", "t2", "t3", "t4", "t5"]
    assert (await space.task("t1")).crashes == 0
    await space.check()


async def test_tasks_of_an_owner_that_nobody_knows_go_back(space: Namespace) -> None:
    """As after a store that has lost a part, or an older system that left them."""
    await working(space, "t1")
    await space.do("DEL", space.keys["worker"] + "a", space.keys.running("a"))
    await space.do("ZREM", space.keys["workers"], "a")
    assert await strays(space, put_back=True) == {"t1": "unknown"}
    assert [delivery.task_id for delivery in await space.take("b")] == ["t1"]
    await space.check()


async def test_tasks_of_a_dead_owner_go_back(space: Namespace) -> None:
    await working(space, "t1")
    await space.do("HSET", space.keys["worker"] + "a", "state", "dead")
    await space.do("PEXPIRE", space.keys["worker"] + "a", 100_000)
    await space.do("ZREM", space.keys["workers"], "a")
    assert await strays(space, put_back=True) == {"t1": "dead"}
    assert await space.state("t1") == "submitted"
    await space.check()


async def test_a_task_that_its_owner_does_not_hold_goes_back_alone(space: Namespace) -> None:
    await working(space, "t1", "t2")
    await space.do("HDEL", space.keys.running("a"), "t1")
    assert await strays(space, put_back=True) == {"t1": "not held"}
    assert await space.state("t2") == "working"
    assert (await space.pull("a", 0)).standing is Standing.OK
    await space.check()


async def test_a_queue_whose_name_is_a_pattern_has_its_own_strays_only(space: Namespace) -> None:
    other = Namespace(space.url, queue="[a-z]*")
    try:
        await working(space, "t1")
        await space.clock.advance(SILENCE)
        assert await strays(other, put_back=True, silence=0) == {}
    finally:
        await other.aclose()
