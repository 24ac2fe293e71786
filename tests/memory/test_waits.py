"""Waits in memory end when they should, however busy everybody else on the event loop is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from holdfast.store.memory.store import MOST_WAITING, MemoryStore
from tests.lua.operations import introduction, submission

pytestmark = pytest.mark.anyio

QUEUE = "test:waits"
WITHIN = 4.0  # seconds: less than the store itself would allow for an answer


async def settled(store: MemoryStore) -> None:
    async for _ in store.settled(["t1"]):
        pass


WAITS: dict[str, Callable[[MemoryStore], Awaitable[object]]] = {
    "listen": lambda store: store.listen("a", [QUEUE], 60.0),
    "peek": lambda store: store.peek("other", 60.0),
    "events": lambda store: store.events("9999999999999-0", 1, 60.0),
    "settled": settled,
    "submit": lambda store: store.submit([submission("more", QUEUE)]),
}


async def hammer(store: MemoryStore) -> None:
    while True:
        await store.ping()


async def full() -> MemoryStore:
    """A store with no room, whose one worker has popped the bell."""
    store = MemoryStore(QUEUE)
    await store.register(introduction("a"))
    await store.submit([submission(f"t{number}", QUEUE) for number in range(MOST_WAITING)])
    await store.listen("a", [QUEUE], 1.0)
    return store


@pytest.mark.parametrize("what", WAITS)
async def test_a_wait_can_be_given_up_at_any_time(what: str) -> None:
    store = await full()
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(hammer, store)
            with anyio.move_on_after(0.05) as waiting:
                await WAITS[what](store)
            group.cancel_scope.cancel()
    assert waiting.cancelled_caught


async def test_a_wait_has_an_end_of_its_own() -> None:
    store = await full()
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(hammer, store)
            assert await store.listen("a", [QUEUE], 0.05) is None
            group.cancel_scope.cancel()
