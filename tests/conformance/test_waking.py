"""Blocking waits end when what they wait for happens: bells, hints, settled turns, entries, events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

import anyio
import pytest

from holdfast.core.delivery import Hint, Settle
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

T = TypeVar("T")
LONG = 20.0  # seconds: a wait of this length that ends was ended by its event


async def meanwhile(waiting: Callable[[], Awaitable[T]], event: Callable[[], Awaitable[object]]) -> T:
    """The result of the wait, whether the event came before it had begun or after."""
    answers: list[T] = []

    async def wait() -> None:
        answers.append(await waiting())

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.sleep(0.02)  # most waits have begun by then; either order is right
            await event()
    return answers[0]


async def test_a_submit_rings_a_waiting_worker(stand: Stand) -> None:
    await stand.register("a")
    assert await meanwhile(lambda: stand.store.listen("a", [stand.queue], LONG), lambda: stand.submit("t1")) == Hint(
        "bell"
    )


async def test_a_worker_that_listens_for_hints_alone_hears_no_bell(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    assert await stand.store.listen("a", [], 0.05) is None
    assert await meanwhile(lambda: stand.store.listen("a", [], LONG), lambda: stand.store.wake("a")) == Hint("wake")


async def test_a_wait_that_is_given_up_leaves_the_next_bell_to_others(stand: Stand) -> None:
    await stand.register("a", "b")
    for _ in range(5):
        with anyio.move_on_after(0.02):
            await stand.store.listen("a", [stand.queue], LONG)
    await stand.store.ping()  # the server has heard by now that nobody waits there any more
    await stand.submit("t1")
    assert await stand.store.listen("b", [stand.queue], 5.0) == Hint("bell")


async def test_one_bell_wakes_one_worker_and_work_that_is_left_the_next(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1", "t2")
    assert await stand.store.listen("a", [stand.queue], 5.0) == Hint("bell")
    await stand.take("a", 1)
    assert await stand.store.listen("b", [stand.queue], 5.0) == Hint("bell")


async def test_a_foreign_entry_ends_a_peek_and_is_rung_for(stand: Stand) -> None:
    await stand.register("a")
    assert not await stand.store.peek(stand.queue, 0.05)
    assert await meanwhile(lambda: stand.store.peek(stand.queue, LONG), lambda: stand.push(b"x"))
    assert await stand.store.peek_entries(stand.queue, 9) == [b"x"]
    assert await stand.store.ring(stand.queue) == (1, 0)
    assert await stand.store.listen("a", [stand.queue], 5.0) == Hint("bell")


async def test_events_are_waited_for(stand: Stand) -> None:
    page = await meanwhile(lambda: stand.store.events("", 5, LONG), lambda: stand.submit("t1"))
    assert [event.subject for event in page.events] == ["t1"]
    last = page.events[-1].position
    assert (await stand.store.events(last, 5, 0.05)).events == ()


async def _first(notices: AsyncIterator[str]) -> str:
    with anyio.fail_after(LONG):
        return await anext(notices)


@pytest.mark.parametrize("others", [0, 40])
async def test_who_waits_is_told_when_a_turn_settles(stand: Stand, others: int) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    first, second = await stand.take("a")
    wanted = ["t1", *(f"o{number}" for number in range(others))]
    async with aclosing(stand.store.settled(wanted)) as notices:  # type: ignore[type-var]  # a generator
        assert await _first(notices) == ""
        await stand.settle("a", second, Settle.COMPLETED)
        await stand.settle("a", first, Settle.INPUT_REQUIRED)
        assert await _first(notices) == "t1"
        await stand.store.cancel("t1", "x")
        assert await _first(notices) == "t1"
