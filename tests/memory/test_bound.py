"""The store in memory is bounded: who submits more than it holds waits, in order, until there is room."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from holdfast.core.delivery import Delivery
from holdfast.store.memory.store import MOST_WAITING, MemoryStore
from tests.lua.operations import introduction, submission

pytestmark = pytest.mark.anyio

QUEUE = "test:bound"


@pytest.fixture
async def store(anyio_backend: object) -> AsyncIterator[MemoryStore]:
    made = MemoryStore(QUEUE)
    await made.register(introduction("a"))
    yield made
    await made.aclose()


async def fill(store: MemoryStore) -> None:
    await store.submit([submission(f"t{number}", QUEUE) for number in range(MOST_WAITING)])


async def take(store: MemoryStore, request: int, count: int) -> tuple[Delivery, ...]:
    return (await store.pull("a", request, count, [QUEUE], [])).deliveries


async def waiting(store: MemoryStore) -> int:
    return (await store.counts()).states["submitted"]  # type: ignore[index]  # a StrEnum


async def test_the_sender_waits_while_it_is_full_and_goes_on_when_a_worker_takes_one(store: MemoryStore) -> None:
    await fill(store)
    accepted = anyio.Event()

    async def send() -> None:
        await store.submit([submission("more", QUEUE)])
        accepted.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            assert not accepted.is_set()
            assert await waiting(store) == MOST_WAITING
            await take(store, 1, 1)
            await accepted.wait()
    assert await waiting(store) == MOST_WAITING


async def test_the_last_place_is_for_one_sender(store: MemoryStore) -> None:
    await store.submit([submission(f"t{number}", QUEUE) for number in range(MOST_WAITING - 1)])
    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(store.submit, [submission(f"s{number}", QUEUE)])
        await anyio.wait_all_tasks_blocked()
        assert await waiting(store) == MOST_WAITING
        group.cancel_scope.cancel()


async def test_senders_go_on_in_the_order_in_which_they_came(store: MemoryStore) -> None:
    await fill(store)
    async with anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(store.submit, [submission(name, QUEUE)])
            await anyio.wait_all_tasks_blocked()
        taken = await take(store, 1, MOST_WAITING)
    assert len(taken) == MOST_WAITING
    assert [delivery.task_id for delivery in await take(store, 2, 9)] == ["one", "two", "three"]


async def test_a_batch_larger_than_the_bound_goes_in_as_room_comes(store: MemoryStore) -> None:
    answers: list[str] = []

    async def send() -> None:
        answers.extend(await store.submit([submission(f"t{number}", QUEUE) for number in range(250)]))

    got: list[str] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            request = 0
            while len(got) < 250:
                request += 1
                assert await waiting(store) <= MOST_WAITING
                got += [delivery.task_id for delivery in await take(store, request, 30)]
    assert got == [f"t{number}" for number in range(250)]
    assert answers == ["new"] * 250


async def test_a_sender_that_gives_up_leaves_nothing_and_holds_up_nobody(store: MemoryStore) -> None:
    await fill(store)
    with anyio.move_on_after(0.05):
        await store.submit([submission("given-up", QUEUE)])
    await take(store, 1, 1)
    with anyio.fail_after(20):
        await store.submit([submission("next", QUEUE)])
    assert await store.get("given-up") is None


async def test_a_cancel_makes_room_too_and_delayed_tasks_take_none(store: MemoryStore) -> None:
    await store.submit([submission(f"d{number}", QUEUE, delay_ms=60_000) for number in range(150)])
    await fill(store)
    await store.cancel("t0", "x")
    with anyio.fail_after(20):
        await store.submit([submission("more", QUEUE)])


async def test_two_stores_know_nothing_of_each_other(store: MemoryStore) -> None:
    other = MemoryStore(QUEUE)
    await store.submit([submission("t1", QUEUE)])
    assert await other.get("t1") is None
    assert (await other.run_id()) != (await store.run_id())
