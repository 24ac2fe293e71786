"""Rollups: each outcome is counted once, by lane and handler; samples are added once for each number of a call."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.rollup import (
    MINUTE,
    MINUTES_KEPT_MS,
    PACKED_BYTES,
    PACKED_KEPT_MS,
    TEN_MINUTES,
    Example,
    Figures,
    Histogram,
    Series,
    bucketed,
    field_of,
    sum_of,
)
from tests.lua.namespace import Namespace, settlement

pytestmark = pytest.mark.anyio


async def figures(space: Namespace) -> dict[Series, Figures]:
    """Those of the only minute that has some."""
    now = await space.store.clock_ms()
    minutes = await space.store.minutes(now - MINUTE, now + MINUTE)
    [rollup] = minutes.values() or [{}]
    return rollup


@pytest.mark.parametrize("kind", list(Settle))
async def test_each_outcome_is_counted_once(space: Namespace, kind: Settle) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    assert await space.settle("a", delivery, kind) == "OK"
    await space.settle("a", delivery, kind)
    [(series, found)] = (await figures(space)).items()
    assert series == Series(space.queue, "")
    assert found.outcomes == Counter({str(kind): 1})


async def test_outcomes_of_one_request_are_counted_by_handler(space: Namespace) -> None:
    await space.register("a")
    for task_id, name in (("t1", "mail"), ("t2", "mail"), ("t3", ""), ("t4", "mail")):
        await space.submit(task_id, **({"name": name} if name else {}))
    deliveries = await space.take("a")
    await space.pull("a", 0, *(settlement(delivery, Settle.COMPLETED) for delivery in deliveries))
    found = {series.handler: dict(each.outcomes) for series, each in (await figures(space)).items()}
    assert found == {"mail": {"completed": 3}, "": {"completed": 1}}
    await space.check()


async def test_outcomes_of_one_request_are_counted_by_handler_whole(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    first, second = await space.take("a")
    await space.pull("a", 0, settlement(first, Settle.FAILED), settlement(second, Settle.COMPLETED))
    [(_, found)] = (await figures(space)).items()
    assert found.outcomes == Counter({"failed": 1, "completed": 1})
    await space.check()


async def test_ends_that_no_worker_reported_are_counted_in_their_own_words(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    await space.store.cancel("t3", "no more")
    await space.take("a", 1)
    await space.crash("a")
    [(_, found)] = (await figures(space)).items()
    assert found.outcomes == Counter({"canceled": 1, "crashed": 1})


@pytest.mark.parametrize("lost_ms", [0, 1, 7, 250, 1000, 86_400_000])
async def test_a_recovery_counts_once_how_long_its_tasks_were_lost(space: Namespace, lost_ms: int) -> None:
    await space.register("a")
    await space.submit("t1", "t2", name="mail")
    await space.submit("t3")
    await space.take("a")
    for _ in range(2):
        await space.store.recover("a", "signal 9", charged=True, lost_ms=lost_ms)
    found = {series.handler: each.recovery for series, each in (await figures(space)).items()}
    [bucket] = bucketed([lost_ms / 1000])
    assert found == {
        "mail": Histogram(2000 * lost_ms, Counter({bucket: 2})),
        "": Histogram(1000 * lost_ms, Counter({bucket: 1})),
    }
    await space.check()


async def test_a_worker_whose_end_nobody_saw_was_lost_at_its_last_heartbeat(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a")
    await space.advance(4000)
    await space.store.recover("a", "its supervisor is gone", charged=False)
    [found] = (await figures(space)).values()
    assert found.recovery == Histogram(4_000_000, bucketed([4.0]))


async def test_an_ordered_end_is_no_loss(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.store.recover("a", "drain", charged=False, ordered=True, lost_ms=500)
    assert [each.recovery.count for each in (await figures(space)).values()] in ([], [0])


async def test_samples_are_added_once_for_each_number(space: Namespace) -> None:
    await space.register("a")
    series = Series(space.queue, "mail")
    run = field_of("run:completed", series)
    first, second = Histogram(30, Counter({-3: 2, 5: 1})), Histogram(7, Counter({5: 1, 9: 4}))
    await space.store.add_samples("a", 1, {run: first.spelled(), field_of("bytes:result", series): 10})
    await space.store.add_samples("a", 1, {run: first.spelled(), field_of("bytes:result", series): 10})
    await space.store.add_samples("a", 2, {run: second.spelled()})
    found = (await figures(space))[series]
    assert found.runs["completed"].buckets == Counter({-3: 2, 5: 2, 9: 4})
    assert found.runs["completed"].micros == 37
    assert found.sizes == Counter({"result": 10})


def example(name: str, at_ms: int = 1) -> dict[str, int | bytes]:
    return {field_of("example:completed", Series("l", name)): Example(5, 2, at_ms, "ab" * 16, "cd" * 8).spelled()}


async def test_an_example_takes_the_place_of_the_one_before(space: Namespace) -> None:
    await space.register("a")
    for number, at_ms in enumerate((1, 20_000), 1):
        await space.store.add_samples("a", number, example("mail", at_ms))
    [found] = (await figures(space)).values()
    assert {outcome: each.at_ms for outcome, each in found.examples.items()} == {"completed": 20_000}
    await space.check()


async def test_examples_leave_half_of_a_rollup_to_counts(space: Namespace) -> None:
    await space.register("a")
    for number in range(1, 301):
        await space.store.add_samples("a", number, example(f"h{number}"))
    assert sum(bool(each.examples) for each in (await figures(space)).values()) == 199
    await space.store.add_samples("a", 301, example("h7", 9))
    assert (await figures(space))[Series("l", "h7")].examples["completed"].at_ms == 9
    await space.store.add_samples("a", 302, {field_of("bytes:result", Series("l", "late")): 1})
    assert (await figures(space))[Series("l", "late")].sizes["result"] == 1


async def test_something_else_under_the_key_of_a_rollup_takes_no_example(space: Namespace) -> None:
    await space.register("a")
    await space.do("SET", space.key(f"rollup:{await space.store.clock_ms() // MINUTE}"), "x")
    await space.store.add_samples("a", 1, example("mail"))


async def test_a_minute_of_one_histogram_alone_expires(space: Namespace) -> None:
    await space.register("a")
    await space.store.add_samples("a", 1, {field_of("wait", Series("l", "h")): Histogram(1, Counter({1: 1})).spelled()})
    await space.check()


async def test_a_worker_that_is_not_known_adds_nothing(space: Namespace) -> None:
    await space.store.add_samples("nobody", 1, {field_of("bytes:result", Series("l", "h")): 10})
    assert await figures(space) == {}


async def test_figures_of_very_many_handlers_are_counted_as_other(space: Namespace) -> None:
    await space.register("a")
    names = [f"handler {n}" for n in range(500)]
    for number, name in enumerate(names, 1):
        await space.store.add_samples("a", number, {field_of("bytes:result", Series(space.queue, name)): 1})
    found = await figures(space)
    assert len(found) < 450
    assert sum(each.sizes["result"] for each in found.values()) == 500
    assert found[Series("", "other")].sizes["result"] > 50


@pytest.mark.parametrize("space", ["server"], indirect=True)
async def test_rollups_of_a_queue_stay_below_their_bound(space: Namespace) -> None:
    """Very many handlers with very long names, whose times differ as much as can be, in each minute of eight hours."""
    await space.register("a")
    start = -(-await space.store.clock_ms() // TEN_MINUTES) * TEN_MINUTES
    await space.advance(start - await space.store.clock_ms())
    wide = Histogram(10**12, Counter(dict.fromkeys(range(-100, 100), 10**6))).spelled()
    for number in range(1, 1001):
        series = Series("lane" * 30, f"{number} {'x' * 190}")
        run, wait = field_of("run:completed", series), field_of("wait", series)
        short = Histogram(1, Counter({number % 200 - 100: 1})).spelled()
        await space.store.add_samples("a", number, {run: wide if number % 7 == 0 else short, wait: short})
    minute = await space.do("MEMORY", "USAGE", space.key(f"rollup:{start // MINUTE}"), "SAMPLES", 0)
    [found] = (await space.store.minutes(start, start + MINUTE)).values()
    await space.advance(2 * TEN_MINUTES)
    bytes_of_thirty_days = 0
    for length, most in PACKED_BYTES.items():
        assert await space.store.keep_rollup(length, start, sum_of([found] * (length // MINUTE)))
        key = space.store.connection.keys.packed_rollup(length, start // length)
        assert await space.do("STRLEN", key) <= most
        bytes_of_thirty_days += PACKED_KEPT_MS // length * (most + 100)  # what Redis needs for a key
    assert MINUTES_KEPT_MS // MINUTE * minute + bytes_of_thirty_days < 64 << 20
    assert sum(each.run.count for each in found.values()) == 142 * 200 * 10**6 + 858, (
        "what is over is counted for other"
    )
    assert sum(each.wait.count for each in found.values()) == 1000
    await space.check()


async def test_ten_minutes_that_are_over_are_kept_once(space: Namespace) -> None:
    await space.register("a")
    start = -(-await space.store.clock_ms() // TEN_MINUTES) * TEN_MINUTES
    await space.advance(start - await space.store.clock_ms())
    series = Series(space.queue, "mail")
    for number in range(1, 4):
        await space.store.add_samples("a", number, {field_of("bytes:result", series): number})
        await space.advance(2 * MINUTE)
    sums = sum_of((await space.store.minutes(start, start + TEN_MINUTES)).values())
    assert await space.store.keep_rollup(TEN_MINUTES, start, sums)
    assert not await space.store.keep_rollup(TEN_MINUTES, start, {})
    found = space.store.rollups(TEN_MINUTES, start, start + 3 * TEN_MINUTES)
    (at, packed), *others = [each async for each in found]
    assert (at, others) == (start, [(start + TEN_MINUTES, None), (start + 2 * TEN_MINUTES, None)])
    assert packed is not None
    assert {key: each.sizes["result"] for key, each in packed.items()} == {series: 6}


async def test_a_key_of_another_type_stops_no_settlement(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    minute = await space.store.clock_ms() // MINUTE
    await space.do("SET", space.key(f"rollup:{minute}"), "somebody else's")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"
    await space.store.add_samples(
        "a", 1, {field_of("run:completed", Series("l", "h")): Histogram(1, Counter({1: 1})).spelled()}
    )


async def test_a_claim_says_how_long_the_task_has_waited(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.advance(250)
    [delivery] = await space.take("a")
    assert delivery.waited_ms == 250
    await space.advance(5000)
    await space.crash("a")
    await space.advance(70)
    [again] = await space.take("b")
    assert again.waited_ms == 70


async def test_a_delayed_task_has_waited_since_it_was_due(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", delay_ms=60_000)
    await space.advance(61_000)
    await space.store.promote(10)
    await space.advance(30)
    [delivery] = await space.take("a")
    assert delivery.waited_ms == 30
