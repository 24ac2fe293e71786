"""Solo: the suspect of two crashes runs alone, so that it takes nobody along, and is given up on after three more."""

from __future__ import annotations

import pytest

from holdfast.core.deliveries import Settle
from tests.lua.namespace import Namespace, settlement

pytestmark = pytest.mark.anyio


async def suspect(space: Namespace, *task_ids: str) -> None:
    """Tasks (s1 by default) that have ended two workers and are due again."""
    wanted = task_ids or ("s1",)
    await space.submit(*wanted)
    for name in ("x", "y"):
        await space.register(name)
        assert tuple(delivery.task_id for delivery in await space.take(name)) == wanted
        await space.crash(name)
    await space.clock.advance(5_000)


async def test_a_reserved_task_waits_until_its_worker_holds_nothing(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    held = await space.take("a", 2)
    await suspect(space)
    await space.submit("t3")
    pulled = await space.pull("a", 8, settlement(held[0], Settle.COMPLETED))
    assert (pulled.solo, pulled.deliveries) == (True, ())
    pulled = await space.pull("a", 9, settlement(held[1], Settle.COMPLETED))
    assert (pulled.solo, [d.task_id for d in pulled.deliveries]) == (True, ["s1"])
    pulled = await space.pull("a", 9)
    assert (pulled.solo, pulled.deliveries) == (True, ())
    await space.check()


async def test_after_its_solo_task_a_worker_claims_as_before(space: Namespace) -> None:
    await space.register("a")
    await suspect(space)
    [alone] = await space.take("a")
    assert alone.solo
    await space.submit("t1")
    pulled = await space.pull("a", 10, settlement(alone, Settle.COMPLETED))
    assert (pulled.solo, [d.task_id for d in pulled.deliveries]) == (False, ["t1"])
    await space.check()


async def test_others_leave_a_reserved_task_alone(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a", 1)
    await suspect(space)
    assert (await space.pull("a", 5)).solo
    await space.submit("t2")
    await space.push(b'{"_b":"s1:1","operation":"run"}')
    pulled = await space.pull("b", 5)
    assert (pulled.solo, [d.task_id for d in pulled.deliveries]) == (False, ["t2"])
    assert not await space.take("b")
    assert await space.entries() == []
    await space.check()


async def test_three_solo_crashes_are_a_dead_letter(space: Namespace) -> None:
    await suspect(space)
    await space.message("s1", "m2")
    for number in range(3):
        assert await space.state("s1") in {"submitted", "delayed"}
        await space.clock.advance(25_000)
        await space.register(f"w{number}")
        [delivery] = await space.take(f"w{number}")
        assert delivery.solo
        await space.crash(f"w{number}")
    task = await space.task("s1")
    assert (task.state, task.dead, task.crashes) == ("failed", True, 5)
    assert len(await space.reasons()) == 1
    await space.check()


async def test_only_crashes_in_solo_count_towards_the_dead_letter(space: Namespace) -> None:
    await suspect(space)
    for number in range(5):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}", charged=False)
    assert (await space.task("s1")).state == "submitted"
    await space.check()


@pytest.mark.parametrize("end", ["dead", "draining"])
async def test_a_reservation_ends_with_its_worker_and_the_others_are_rung_for(space: Namespace, end: str) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a", 1)
    await suspect(space)
    assert (await space.pull("a", 5)).solo
    await space.store.cancel("t1", "enough")
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    if end == "dead":
        await space.crash("a", charged=False)
    else:
        await space.store.renew("a", "draining", 99, [])
    assert await space.do("LLEN", space.key(f"bell:{space.queue}")) == 1
    pulled = await space.pull("b", 5)
    assert (pulled.solo, [d.task_id for d in pulled.deliveries]) == (True, ["s1"])
    await space.check()


async def test_two_suspects_go_to_two_workers(space: Namespace) -> None:
    await suspect(space, "s1", "s2")
    bell = space.key(f"bell:{space.queue}")
    await space.register("a", "b")
    await space.store.promote(10)
    await space.do("DEL", bell)
    assert [delivery.task_id for delivery in await space.take("a")] == ["s1"]
    assert await space.do("LLEN", bell) == 1
    await space.do("DEL", bell)
    assert [delivery.task_id for delivery in await space.take("b")] == ["s2"]
    assert await space.do("LLEN", bell) == 0
    await space.check()


async def test_a_suspect_that_succeeds_is_none_in_its_next_turn(space: Namespace) -> None:
    await space.register("a")
    await suspect(space)
    await space.message("s1", "m2")
    [alone] = await space.take("a")
    [next_turn] = await space.take("a", 10, settlement(alone, Settle.COMPLETED))
    assert (next_turn.turn, next_turn.solo, next_turn.crashes) == (2, False, 0)
    await space.check()


@pytest.mark.parametrize("end", ["canceled", "suspended"])
async def test_a_suspect_that_is_taken_away_frees_its_worker(space: Namespace, end: str) -> None:
    await space.register("a")
    await space.submit("t1")
    [held] = await space.take("a", 1)
    await suspect(space)
    assert (await space.pull("a", 5)).solo
    order = space.store.cancel if end == "canceled" else space.store.pause
    assert await order("s1", "enough") == end
    await space.submit("t2")
    pulled = await space.pull("a", 5, settlement(held, Settle.COMPLETED))
    assert (pulled.solo, [d.task_id for d in pulled.deliveries]) == (False, ["t2"])
    await space.check()


async def test_suspects_of_other_lanes_are_for_others(space: Namespace) -> None:
    await space.register("a")
    await suspect(space)
    pulled = await space.pull("a", 5, lanes=["slow"])
    assert (pulled.solo, pulled.deliveries) == (False, ())
    await space.check()
