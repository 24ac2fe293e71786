"""A task whose record somebody has damaged is its own trouble: others are promoted, put back, trimmed and recovered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from holdfast.core.deliveries import Settle
from tests.lua.namespace import Namespace
from tests.lua.test_suspects import die_together, end_in_quarantine, suspect

pytestmark = pytest.mark.anyio

Damage = Callable[[Namespace, str], Awaitable[None]]


async def other(space: Namespace, task_id: str) -> None:
    await space.do("DEL", space.key(f"task:{task_id}"))
    await space.do("SET", space.key(f"task:{task_id}"), "no hash")


async def half(space: Namespace, task_id: str) -> None:
    await space.do("HDEL", space.key(f"task:{task_id}"), "lane", "seq", "turn")


async def mute(space: Namespace, task_id: str) -> None:
    await space.do("DEL", space.key(f"op:{task_id}"))


DAMAGES = [other, half, mute]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_promoted(space: Namespace, damage: Damage) -> None:
    await space.submit("bad", "good", delay_ms=1000)
    await damage(space, "bad")
    await space.advance(1000)
    assert (await space.store.promote(100))[0] == 2
    assert await space.store.promote(100) == (0, None)
    assert len(await space.entries()) == 1


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_put_back(space: Namespace, damage: Damage) -> None:
    await space.submit("bad", "good", "last")
    await space.do("LPOP", space.queue, 2)
    await damage(space, "bad")
    assert [await space.store.audit(space.queue, 100, "") for _ in range(3)] == [(0, ""), (1, ""), (0, "")]
    assert len(await space.entries()) == 2


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_trimmed(space: Namespace, damage: Damage) -> None:
    await space.register("a")
    await space.submit("bad", "good")
    for delivery in await space.take("a", 2):
        await space.settle("a", delivery, Settle.COMPLETED)
    await damage(space, "bad")
    await space.advance(1000)
    await space.store.trim(10, 100)
    assert not await space.do("EXISTS", space.key("task:good"), space.key("task:bad"))


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_recovered(space: Namespace, damage: Damage) -> None:
    await space.register("a")
    await space.submit("bad", "good")
    await space.take("a", 2)
    await damage(space, "bad")
    assert await space.crash("a") == 2
    await space.register("b")
    assert [delivery.task_id for delivery in await space.take("b", 2)] == ["good"]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_cleared(space: Namespace, damage: Damage) -> None:
    """Of what a suspect has shared a death with."""
    await die_together(space, "a1", "bad", "good")
    await damage(space, "bad")
    await space.clock.advance(5_000)
    await space.store.promote(10)
    await end_in_quarantine(space, "a1")
    assert (await space.task("good")).crashes == 0


@pytest.mark.parametrize("place", ["suspects", "gate"])
async def test_a_cleared_lane_lets_go_of_a_record_that_was_deleted(space: Namespace, place: str) -> None:
    if place == "suspects":
        await suspect(space, "bad")
    else:
        await space.register("a")
        await space.submit("runs", "bad", concurrency_key="k")
        assert [delivery.task_id for delivery in await space.take("a")] == ["runs"]
    await space.do("DEL", space.key("task:bad"))
    assert await space.store.clear(space.queue, 10) == 1
    assert await space.store.clear(space.queue, 10) == 0
