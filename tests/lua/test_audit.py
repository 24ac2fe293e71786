"""audit: what somebody else took from a lane is put back, in order, and nothing else is."""

from __future__ import annotations

import pytest

from tests.lua.namespace import Namespace
from tests.lua.operations import run

pytestmark = pytest.mark.anyio


async def audit(space: Namespace, times: int = 2, limit: int = 100) -> int:
    """Audit the plain queue so often, page after page; how many were put back."""
    back, cursor = 0, ""
    for _ in range(times):
        put_back, cursor = await space.store.audit(space.queue, limit, cursor)
        back += put_back
    return back


async def steal(space: Namespace, count: int) -> None:
    await space.do("LPOP", space.queue, count)


async def test_stolen_entries_are_put_back_in_order_at_the_second_look(space: Namespace) -> None:
    await space.register("a")
    names = [f"t{number}" for number in range(10)]
    await space.submit(*names)
    await steal(space, 4)
    assert await audit(space, 1) == 0
    assert await audit(space, 1) == 4
    assert await audit(space) == 0
    await space.check()
    assert [delivery.task_id for delivery in await space.take("a")] == names


async def test_a_large_theft_is_put_back_in_steps(space: Namespace) -> None:
    await space.register("a")
    names = [f"t{number}" for number in range(200)]
    await space.submit(*names)
    await steal(space, 60)
    assert [await audit(space, 1, limit=500) for _ in range(5)] == [0, 24, 24, 12, 0]
    await space.check()
    assert [delivery.task_id for delivery in await space.take("a", 200)] == names


async def test_a_deleted_lane_comes_back_page_by_page(space: Namespace) -> None:
    await space.register("a")
    names = [f"t{number}" for number in range(25)]
    await space.submit(*names)
    await space.do("DEL", space.queue)
    ran: list[str] = []
    for _ in range(12):
        await audit(space, 2, limit=7)
        ran += [delivery.task_id for delivery in await space.take("a", 100)]
    assert ran == names
    await space.check()


async def test_one_look_is_not_enough_when_the_task_has_moved(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await steal(space, 1)
    assert await audit(space, 1) == 0
    await space.push(run("t1", "m-t1"))
    await space.take("a")
    await space.crash("a")
    await steal(space, 1)
    assert await audit(space, 1) == 0
    assert await audit(space, 1) == 1
    await space.check()


async def test_foreign_entries_at_the_head_blind_it_for_a_while(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await steal(space, 1)
    await space.do("LPUSH", space.queue, *[run(f"f{number}") for number in range(64)])
    assert await audit(space, 3) == 0
    await space.take("a", 64)
    assert await audit(space) == 1
    await space.check()


async def test_redelivered_foreign_entries_make_nobody_look_lost(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1", "t2")
    await space.push(run("f1"), run("f2"))
    await space.submit("t3", "t4")
    await space.take("a", 8)
    await space.take("b", 8)
    await space.crash("b")
    await space.crash("a")
    assert await audit(space, 4) == 0
    await space.check()


async def test_what_many_deaths_put_back_is_not_stolen(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit(*(f"t{number}" for number in range(200)))
    for _ in range(100):
        await space.take("a", 1)
        await space.take("b", 1)
    await space.crash("a")
    await space.crash("b")
    entries = await space.entries()
    assert len(entries) == 200
    assert await audit(space, 4) == 0
    await space.do("LPOP", space.queue)  # what is given back behind so many others stands in any order
    await space.do("LINSERT", space.queue, "AFTER", entries[100], entries[0])
    assert await audit(space, 4) == 0


async def test_forged_numbers_are_not_believed(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    await space.do("LPUSH", space.queue, b'{"_b":"ghost:999999999","operation":"run"}')
    await space.do("LTRIM", space.queue, 0, 0)
    await space.push(*[b"{}"] * 64)
    assert await audit(space, 4) == 0
    await space.take("a", 64)
    await space.push(run("f1"))
    await space.take("a", 1)
    assert int((await space.check(stolen=True))[space.key("task:f1")]["content"]["seq"]) < 999_999_999


async def test_tasks_that_wait_alone_are_not_lost(space: Namespace) -> None:
    await space.submit("s1")
    for name in ("x", "y"):
        await space.register(name)
        await space.take(name)
        await space.crash(name)
    await space.clock.advance(5_000)
    await space.store.promote(10)
    assert await audit(space, 4) == 0
    await space.check()


async def test_lanes_are_audited_each_for_itself(space: Namespace) -> None:
    await space.submit("t1")
    await steal(space, 1)
    for _ in range(3):
        assert (await space.store.audit("slow", 10, ""))[0] == 0
    assert await audit(space) == 1
    await space.check()
