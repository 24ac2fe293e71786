"""Dead letters, tasks run once more, and what was set aside: listed, put back, deleted."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.tasks import RetryAnswer
from tests.conformance.stand import Stand
from tests.lua.operations import control

pytestmark = pytest.mark.anyio


async def letters(stand: Stand, count: int) -> None:
    """`t0`, `t1`, …: each given up on a second after the one before."""
    await stand.register("a")
    for number in range(count):
        await stand.submit(f"t{number}")
        [delivery] = await stand.take("a")
        await stand.settle("a", delivery, Settle.EXHAUSTED, result=b'"error"', reason="boom")
        await stand.advance(1_000)


async def test_dead_letters_are_listed_in_pages_newest_first(stand: Stand) -> None:
    await letters(stand, 5)
    page = await stand.store.dead_letters(3)
    assert [task.task_id for task in page.tasks] == ["t4", "t3", "t2"]
    rest = await stand.store.dead_letters(3, page.cursor)
    assert ([task.task_id for task in rest.tasks], rest.cursor) == (["t1", "t0"], "")
    moment = (await stand.task("t1")).finished_ms
    assert [task.task_id for task in (await stand.store.dead_letters(9, before_ms=moment)).tasks] == ["t1", "t0"]


async def test_a_dead_letter_runs_once_more_as_a_new_task(stand: Stand) -> None:
    await letters(stand, 1)
    assert await stand.store.retry("t0", "again") == RetryAnswer("new", "t0.r1")
    assert await stand.store.retry("t0", "again") == RetryAnswer("again", "t0.r1")
    [delivery] = await stand.take("a")
    assert (delivery.task_id, delivery.attempts, delivery.turn) == ("t0.r1", 0, 1)
    old, new = await stand.task("t0"), await stand.task("t0.r1")
    assert (old.state, old.retried_as, new.retry_of) == ("failed", "t0.r1", "t0")
    assert (await stand.store.dead_letters(9)).tasks == ()


async def test_what_cannot_run_again_says_why(stand: Stand) -> None:
    await stand.submit("t1")
    assert (await stand.store.retry("t1", "x")).word == "submitted"
    assert (await stand.store.retry("nobody", "x")).word == "unknown"


async def test_purging_deletes_dead_letters_and_nothing_else(stand: Stand) -> None:
    await letters(stand, 2)
    await stand.submit("waits")
    assert await stand.store.purge_dead(["t0", "waits", "nobody"]) == 1
    assert await stand.store.get("t0") is None
    assert [await stand.state(name) for name in ("t1", "waits")] == ["failed", "submitted"]


async def test_what_was_set_aside_goes_back_as_it_came(stand: Stand) -> None:
    await stand.register("a")
    raw = control("pause", "nobody")
    await stand.push(raw)
    await stand.pull("a")
    [entry] = await stand.store.unreadable(10)
    assert (entry.raw, entry.size, entry.is_cut) == (raw, len(raw), False)
    assert await stand.store.unreadable_at(entry.address) == entry
    assert await stand.store.readmit(entry.address) == "back"
    assert await stand.store.peek_entries(stand.queue, 10) == [raw]
    assert await stand.store.readmit(entry.address) == "gone"
    assert await stand.store.unreadable(10) == []


async def test_what_was_set_aside_can_be_forgotten(stand: Stand) -> None:
    await stand.register("a")
    await stand.push(b"one", b"two", b"three")
    await stand.pull("a")
    newest, middle, _ = await stand.store.unreadable(10)
    assert (newest.raw, middle.raw) == (b"three", b"two")
    assert await stand.store.forget_unreadable(middle.address)
    assert not await stand.store.forget_unreadable(middle.address)
    assert await stand.store.purge_unreadable(newest.at_ms, 1) == 1
    assert [entry.raw for entry in await stand.store.unreadable(10)] == [b"three"]


async def test_trimming_forgets_what_ended_long_ago_oldest_first(stand: Stand) -> None:
    await letters(stand, 3)
    await stand.submit("waits")
    assert await stand.store.trim(10_000, 10) == 0
    assert await stand.store.trim(1_500, 1) == 1
    assert stand.remembers or await stand.store.get("t0") is None
    await stand.advance(10_000)
    assert await stand.store.trim(1_500, 10) == 2
    counts = await stand.store.counts()
    assert (counts.states["failed"], counts.dead, counts.counters["failed"]) == (0, 0, 3)  # type: ignore[index]  # a StrEnum
    assert await stand.state("waits") == "submitted"
