"""Batches go to the store in parts: bounded, in order, each made while the one before is on its way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.submission import CHUNK, CHUNK_BYTES, Draft
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted, Submission
from holdfast.errors import InvalidTaskError, StoreError
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio


class Counted:
    """The store's `submit`. `sizes`: of each call, how many submissions it had; `before`: called with each."""

    def __init__(self, store: RedisStore) -> None:
        self.calls: list[list[Submission]] = []
        self.before: Callable[[int], Awaitable[None]] | None = None
        self._submit = store.submit
        store.submit = self.submit  # type: ignore[method-assign]

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        self.calls.append(list(submissions))
        if self.before is not None:
            await self.before(len(self.calls))
        return await self._submit(submissions)

    @property
    def sizes(self) -> list[int]:
        return [len(call) for call in self.calls]


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        assert isinstance(opened, RedisStore)
        yield opened


@pytest.fixture
def counted(store: RedisStore) -> Counted:
    return Counted(store)


@pytest.fixture
def manager(store: RedisStore, counted: Counted, redis_settings: RedisSettings) -> TaskManager:
    return TaskManager(store, queue=redis_settings.queue)


async def test_a_batch_is_submitted_in_parts_in_its_order(manager: TaskManager, counted: Counted) -> None:
    ids = await manager.run_tasks(TaskSpec(text=str(number)) for number in range(2 * CHUNK + 7))
    assert counted.sizes == [CHUNK, CHUNK, 7]
    assert [one.task_id for call in counted.calls for one in call] == ids


async def test_a_part_has_bounded_bytes(manager: TaskManager, counted: Counted) -> None:
    await manager.run_tasks([TaskSpec(text="x" * (CHUNK_BYTES // 3)) for _ in range(7)])
    assert counted.sizes == [2, 2, 2, 1]


async def test_a_part_is_made_while_the_one_before_is_on_its_way(manager: TaskManager, counted: Counted) -> None:
    taken: list[slice] = []

    class Drafts(list[Draft]):
        def __getitem__(self, place: Any) -> Any:
            if isinstance(place, slice):
                taken.append(place)
            return super().__getitem__(place)

    sent: list[int] = []
    answered: list[int] = []

    async def answer_later(_: int) -> None:
        sent.append(len(taken))
        await anyio.wait_all_tasks_blocked()
        answered.append(len(taken))

    counted.before = answer_later
    drafts = Drafts(manager.submitter.draft(TaskSpec(text=str(number))) for number in range(3 * CHUNK))
    await manager.submitter.submit_drafts(drafts)
    assert (sent, answered) == ([1, 2, 3], [2, 3, 3])


async def test_nothing_is_written_of_a_batch_with_a_wrong_task_at_its_end(
    manager: TaskManager, counted: Counted
) -> None:
    with pytest.raises(InvalidTaskError):
        await manager.run_tasks([*(TaskSpec(text=str(number)) for number in range(2 * CHUNK)), TaskSpec()])
    assert counted.calls == []


async def test_nothing_is_written_of_a_batch_with_a_task_that_is_too_large(
    store: RedisStore, counted: Counted, redis_settings: RedisSettings
) -> None:
    manager = TaskManager(store, queue=redis_settings.queue, max_message_bytes=10_000)
    await manager.run_tasks([TaskSpec(text="x" * 9_000)])
    counted.calls.clear()
    with pytest.raises(InvalidTaskError, match="at most 10000 are allowed"):
        await manager.run_tasks([*(TaskSpec(text=str(number)) for number in range(CHUNK)), TaskSpec(text="x" * 9_990)])
    assert counted.calls == []


async def test_an_error_tells_how_many_were_accepted_before_it(manager: TaskManager, counted: Counted) -> None:
    async def fail(number: int) -> None:
        if number == 2:
            raise StoreError("broken")

    counted.before = fail
    with pytest.raises(StoreError, match="broken") as raised:
        await manager.run_tasks([TaskSpec(text=str(number)) for number in range(3 * CHUNK)])
    assert raised.value.__notes__ == [f"{CHUNK} of {3 * CHUNK} tasks were accepted before this error"]
    assert counted.sizes == [CHUNK, CHUNK]
