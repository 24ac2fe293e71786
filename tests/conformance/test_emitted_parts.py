"""Parts that a running task emits: kept in order under the latest claim, bounded, and there for whoever reads late."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import msgspec
import pytest

from holdfast.core.delivery import Delivery, EmittedBatch, EmittedPart, EmitVerdict, Settle
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

OK, LOST = EmitVerdict.OK, EmitVerdict.LOST
MOST = 10_000  # parts that are kept of a task
MOST_BYTES = 1 << 20


async def claimed(stand: Stand, task_id: str = "t") -> Delivery:
    """The task, in the hands of worker `a`."""
    await stand.register("a")
    await stand.submit(task_id)
    [delivery] = await stand.take("a")
    return delivery


def batch(of: Delivery, number: int, *values: object) -> EmittedBatch:
    return EmittedBatch(of.task_id, of.claim, of.run, number, len(values), msgspec.json.encode(values))


async def kept(stand: Stand, task_id: str = "t", after: int = 0) -> list[EmittedPart]:
    """All parts behind a position, by as many answers as it takes."""
    parts, position = list[EmittedPart](), after
    while not (page := await stand.store.emitted_parts(task_id, position)).is_whole:
        parts += page.parts
        position = page.parts[-1].position
    return parts + list(page.parts)


async def told(stand: Stand, after: int = 0) -> list[tuple[int, int, object]]:
    return [(part.position, part.run, part.value) for part in await kept(stand, after=after)]


async def test_parts_are_kept_in_their_order_and_a_repeated_call_changes_nothing(stand: Stand) -> None:
    run = await claimed(stand)
    for _ in range(2):
        assert await stand.store.emit([batch(run, 1, "a", {"b": None})]) == [OK]
        assert await stand.store.emit([batch(run, 3, [])]) == [OK]
        assert await stand.store.emit([batch(run, 1, "a", {"b": None})]) == [OK]
    assert await told(stand) == [(1, 1, "a"), (2, 1, {"b": None}), (3, 1, [])]
    assert await told(stand, after=1) == [(2, 1, {"b": None}), (3, 1, [])]
    assert await told(stand, after=3) == []
    page = await stand.store.emitted_parts("t", 0)
    assert (page.state, page.last) == ("working", 3)
    unknown = await stand.store.emitted_parts("unknown", 0)
    assert (unknown.state, unknown.last, unknown.parts) == (None, 0, ())


async def test_one_call_keeps_parts_of_several_tasks(stand: Stand) -> None:
    first = await claimed(stand)
    await stand.submit("u")
    [second] = await stand.take("a")
    gone = EmittedBatch("gone", first.claim, 1, 1, 1, b"[1]")
    assert await stand.store.emit([batch(first, 1, 1), gone, batch(second, 1, 2)]) == [OK, LOST, OK]
    assert [[part.value for part in await kept(stand, task_id)] for task_id in ("t", "u", "gone")] == [[1], [2], []]


async def test_only_the_latest_claim_emits(stand: Stand) -> None:
    old = await claimed(stand)
    await stand.register("b")
    await stand.store.emit([batch(old, 1, "early")])
    await stand.crash("a")
    assert await stand.store.emit([batch(old, 2, "late")]) == [LOST]
    [new] = await stand.take("b")
    assert await stand.store.emit([batch(old, 2, "late"), batch(new, 1, "again")]) == [LOST, OK]
    await stand.settle("b", new, Settle.COMPLETED)
    assert await stand.store.emit([batch(new, 2, "after")]) == [LOST]
    assert await told(stand) == [(1, 1, "early"), (2, 2, "again")]


async def test_parts_that_never_came_leave_a_gap_in_the_positions(stand: Stand) -> None:
    run = await claimed(stand)
    await stand.store.emit([batch(run, 3, "c"), batch(run, 6, "f", "g")])
    assert await told(stand) == [(3, 1, "c"), (6, 1, "f"), (7, 1, "g")]


async def test_a_later_turn_goes_on_with_the_positions_and_a_retry_begins_without_parts(stand: Stand) -> None:
    first = await claimed(stand)
    await stand.store.emit([batch(first, 1, "a")])
    await stand.settle("a", first, Settle.INPUT_REQUIRED)
    await stand.message("t", "m2")
    [second] = await stand.take("a")
    await stand.store.emit([batch(second, 1, "b")])
    assert await told(stand) == [(1, 1, "a"), (2, 2, "b")]
    await stand.settle("a", second, Settle.FAILED)
    again = (await stand.store.retry("t", "asked")).task_id
    assert await kept(stand, again) == []


async def test_parts_are_bounded_in_number_and_the_last_ones_stay(stand: Stand) -> None:
    run, size = await claimed(stand), 2500
    for first in range(1, 2 * MOST, size):
        await stand.store.emit([batch(run, first, *range(first, first + size))])
    positions = [part.position for part in await kept(stand)]
    assert positions == [*range(MOST + 1, 2 * MOST + 1)]


async def test_parts_are_bounded_in_bytes(stand: Stand) -> None:
    run, large = await claimed(stand), "x" * (MOST_BYTES // 8)
    for number in range(1, 21):
        await stand.store.emit([batch(run, number, large)])
    parts = await kept(stand)
    assert MOST_BYTES <= sum(len(part.value) for part in parts) <= MOST_BYTES + len(large)
    assert parts[-1].position == 20


async def test_parts_go_with_their_task(stand: Stand) -> None:
    run = await claimed(stand)
    await stand.store.emit([batch(run, 1, "a")])
    await stand.settle("a", run, Settle.COMPLETED)
    assert await told(stand) == [(1, 1, "a")]
    await stand.store.forget_tasks(["t"])
    assert await told(stand) == []


async def test_who_follows_a_task_is_told_of_its_parts(stand: Stand) -> None:
    run = await claimed(stand)
    async with aclosing(stand.store.emitted("t")) as notices:
        assert await anext(notices) == ""
        await stand.store.emit([batch(run, 1, "a")])
        with anyio.fail_after(30):
            assert await anext(notices) == "t"
