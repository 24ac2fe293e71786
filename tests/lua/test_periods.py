"""The figures of a period are the sum of what happened in it, whichever rollups they are read from."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, cast

import pytest

from holdfast.core.rollup import (
    DAY,
    HOUR,
    MINUTE,
    MINUTES_KEPT_MS,
    PACKED,
    TEN_MINUTES,
    Histogram,
    Rollup,
    Series,
    field_of,
)
from holdfast.store.periods import last_bounds, read_period, stretches
from holdfastd.steward.duties.upkeep import ROLLUP_EVERY, Rollups
from tests.lua.namespace import Namespace

if TYPE_CHECKING:
    from holdfast.store import Store

pytestmark = pytest.mark.anyio

LENGTHS = (HOUR, 3 * HOUR, 6 * HOUR, DAY, 2 * DAY)


async def happens(space: Namespace, number: int, handler: str = "mail") -> int:
    """One more byte of results. The moment."""
    await space.store.add_samples("a", number, {field_of("bytes:result", Series("lane", handler)): 1})
    return await space.store.clock_ms()


def counted(total: Rollup) -> int:
    return sum(figures.sizes["result"] for figures in total.values())


async def expire_minutes(space: Namespace) -> None:
    """As the server's clock does, which no test moves."""
    oldest = (await space.store.clock_ms() - MINUTES_KEPT_MS) // MINUTE
    for key in await space.do("KEYS", space.key("rollup:*")):
        if int(key.decode().rpartition(":")[2]) < oldest:
            await space.do("DEL", key)


async def shown_as_happened(space: Namespace, moments: Sequence[int]) -> None:
    for length in LENGTHS:
        now = await space.store.clock_ms()
        for bounds in last_bounds(now, length):
            period = await read_period(space.store, now, bounds)
            inside = sum(period.start_ms <= at < period.end_ms for at in moments)
            assert counted(period.total) == inside, length
            assert sum(step.figures.sizes["result"] for step in period.course(60)) == inside
            assert sum(step.seconds for step in period.course(60)) == period.seconds


async def test_a_period_is_the_sum_of_what_happened_in_it(space: Namespace) -> None:
    """Three days with a steward that is away for some hours now and then."""
    plays = random.Random(17)
    await space.register("a")
    duty, moments, away_until, number = Rollups(space.store), list[int](), 0, 0
    began = await space.store.clock_ms()
    while (now := await space.store.clock_ms()) < began + 3 * DAY:
        number += 1
        moments.append(await happens(space, number))
        if now > away_until:
            assert await duty.pack() == ROLLUP_EVERY
            away_until = now + (plays.randrange(5 * HOUR) if plays.random() < 0.05 else 0)
        if plays.random() < 0.05:
            await expire_minutes(space)
            await shown_as_happened(space, moments)
        await space.advance(plays.randrange(20 * MINUTE))


async def test_hours_and_days_are_made_of_what_is_packed(space: Namespace) -> None:
    await space.register("a")
    start = -(-await space.store.clock_ms() // DAY) * DAY
    await space.advance(start - await space.store.clock_ms())
    for number in range(24 * 3):
        await happens(space, number + 1, f"handler-{number % 2}")
        await space.advance(20 * MINUTE)
    duty = Rollups(space.store)
    await duty.pack()
    found = [at async for at, rollup in space.store.rollups(HOUR, start, start + DAY) if rollup is not None]
    assert found == [start + hour * HOUR for hour in range(16, 23)], "a steward that starts looks eight hours back"
    await space.advance(2 * MINUTE - MINUTE // 10)
    await duty.pack()
    [(_, early)] = [each async for each in space.store.rollups(DAY, start, start + DAY)]
    assert early is None, "samples may come for two minutes more"
    await space.advance(MINUTE // 10)
    await duty.pack()
    [(_, day)] = [each async for each in space.store.rollups(DAY, start, start + DAY)]
    assert day is not None
    assert {series.handler: figures.sizes["result"] for series, figures in day.items()} == {
        "handler-0": 8 * 3 // 2,
        "handler-1": 8 * 3 // 2,
    }


async def test_an_hour_has_the_names_that_its_minutes_have(space: Namespace) -> None:
    """Ten minutes have no room for all of them."""
    await space.register("a")
    start = -(-await space.store.clock_ms() // HOUR) * HOUR
    await space.advance(start - await space.store.clock_ms())
    chance = random.Random(17)
    names = [f"shop.reports.{chance.randbytes(20).hex()}" for _ in range(80)]
    for number in range(1, 13):
        some = names[:40] if number % 2 else names[40:]  # a minute has room for these
        buckets = {name: Counter(chance.choices(range(-80, 0), k=500)) for name in some}
        samples = {
            field_of("run:completed", Series("lane", name)): Histogram(500, times).spelled()
            for name, times in buckets.items()
        }
        await space.store.add_samples("a", number, samples)
        await space.advance(TEN_MINUTES // 2)
    await space.advance(2 * MINUTE)
    await Rollups(space.store).pack()
    short = [each async for _, each in space.store.rollups(TEN_MINUTES, start, start + HOUR) if each is not None]
    [(_, hour)] = [each async for each in space.store.rollups(HOUR, start, start + HOUR)]
    assert hour is not None
    assert {series.handler for series in hour} == {*names}
    assert all(len(each) < len(names) for each in short)


async def test_of_one_handler_or_lane_there_are_its_figures_alone(space: Namespace) -> None:
    await space.register("a")
    for number in range(9):
        await happens(space, number + 1, f"handler-{number % 3}")
    now = await space.store.clock_ms()
    for wanted, count in (({"handler": "handler-1"}, 3), ({"lane": "lane"}, 9), ({"lane": "other"}, 0)):
        latest, before = [await read_period(space.store, now, bounds, **wanted) for bounds in last_bounds(now, HOUR)]
        assert (counted(latest.total), counted(before.total)) == (count, 0), wanted


async def test_of_a_quiet_queue_no_minutes_are_read_that_are_not_kept_any_more(space: Namespace) -> None:
    read = list[tuple[int, int]]()

    class Counting:
        def rollups(self, length: int, since: int, until: int) -> AsyncIterator[tuple[int, Rollup | None]]:
            read.extend([(since, until)] if length == MINUTE else [])
            return space.store.rollups(length, since, until)

    now = await space.store.clock_ms()
    for bounds in last_bounds(now, 15 * DAY):
        assert not (await read_period(cast("Store", Counting()), now, bounds)).total
    assert sum(until - since for since, until in read) <= MINUTES_KEPT_MS + 2 * MINUTE


def test_a_period_is_read_by_the_longest_rollups_that_fit() -> None:
    start, end = DAY - HOUR - TEN_MINUTES - MINUTE, 3 * DAY + 2 * MINUTE
    assert list(stretches(start, end, DAY)) == [
        (MINUTE, start, start + MINUTE),
        (TEN_MINUTES, start + MINUTE, DAY - HOUR),
        (HOUR, DAY - HOUR, DAY),
        (DAY, DAY, 3 * DAY),
        (MINUTE, 3 * DAY, end),
    ]
    for longest in (MINUTE, *PACKED):
        parts = list(stretches(start, end, longest))
        assert [since for _, since, _ in parts] + [end] == [start] + [until for *_, until in parts]
        assert all(since % length == until % length == 0 for length, since, until in parts)
        assert max(length for length, *_ in parts) == longest
