"""Lanes in turns: by weight, in order, and what an empty lane costs."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace, settlement

pytestmark = pytest.mark.anyio

HIGH, LOW = "high", "low"


async def fill(space: Namespace, count: int, *lanes: str) -> None:
    for lane in lanes:
        for number in range(count):
            await space.submit(f"{lane}{number}", lane=lane)


async def served(space: Namespace, worker: str, slots: int, lanes: list[str], weights: list[int]) -> list[str]:
    """Pull once, complete what came; the lanes it came from."""
    pulled = await space.pull(worker, slots, lanes=lanes, weights=weights)
    await space.pull(worker, 0, *(settlement(one, Settle.COMPLETED) for one in pulled.deliveries), lanes=lanes)
    return [delivery.lane for delivery in pulled.deliveries]


async def test_of_two_full_lanes_the_heavier_goes_first(space: Namespace) -> None:
    await space.register("w")
    await fill(space, 6, "A", "B")
    order = [lane for _ in range(6) for lane in await served(space, "w", 1, ["A", "B"], [2, 1])]
    assert order == ["A", "A", "B", "A", "A", "B"]
    await space.check()


async def test_an_empty_lane_costs_nothing(space: Namespace) -> None:
    await space.register("w")
    await fill(space, 3, "B")
    assert await served(space, "w", 3, ["A", "B"], [2, 1]) == ["B", "B", "B"]


@pytest.mark.parametrize("slots", [1, 3, 10, 16])
async def test_weights_hold_for_all_workers_together(space: Namespace, slots: int) -> None:
    """Eight workers that take turns; both lanes stay full."""
    workers = [f"w{number}" for number in range(8)]
    await space.register(*workers)
    await fill(space, 400, HIGH, LOW)
    taken: Counter[str] = Counter()
    while taken.total() < 300:
        for worker in workers:
            taken.update(await served(space, worker, slots, [LOW, HIGH], [3, 6]))
    assert abs(taken[HIGH] / taken.total() - 6 / 9) < 0.02
    await space.check()


async def test_a_lane_that_was_empty_saves_up_no_more_than_one_round(space: Namespace) -> None:
    await space.register("w")
    lanes, weights = [HIGH, LOW, "other"], [6, 3, 3]
    await fill(space, 150, LOW, "other")
    for _ in range(10):
        await served(space, "w", 10, lanes, weights)
    await fill(space, 50, HIGH)
    order = [lane for _ in range(7) for lane in await served(space, "w", 1, lanes, weights)]
    assert order.count(HIGH) in {4, 5, 6}


async def test_in_strict_order_the_first_lane_that_holds_something_is_served(space: Namespace) -> None:
    await space.register("w")
    await fill(space, 4, LOW, HIGH)
    order = [lane for _ in range(8) for lane in await served(space, "w", 1, [HIGH, LOW], [])]
    assert order == [HIGH] * 4 + [LOW] * 4


async def test_workers_of_two_hosts_may_weigh_differently(space: Namespace) -> None:
    await space.register("a", "b")
    await fill(space, 60, HIGH, LOW)
    order: list[str] = []
    for _ in range(30):
        order += await served(space, "a", 1, [HIGH, LOW], [9, 1])
        order += await served(space, "b", 1, [HIGH, LOW], [1, 1])
    assert {HIGH, LOW} == set(order)
    assert len(order) == 60


async def test_a_turn_that_finds_only_hints_goes_to_the_other_lane(space: Namespace) -> None:
    """Of the heavier lane all tasks were canceled: their entries are nothing to run."""
    await space.register("w")
    await fill(space, 30, HIGH, LOW)
    for number in range(30):
        await space.store.cancel(f"{HIGH}{number}", "asked")
    assert await served(space, "w", 5, [HIGH, LOW], [6, 1]) == [LOW] * 5
    await space.check()
