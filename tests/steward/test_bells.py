"""The steward rings for entries for which nobody has rung, and for no others: a real store, a real lane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio
import pytest

from holdfast.core.acceptance import Submission
from holdfast.core.envelope import build_parts
from holdfast.core.worker_records import Introduction
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfastd.steward.duties.bells import Bell
from holdfastd.steward.duty import Health, run_duty
from tests.envelopes import build_run

pytestmark = pytest.mark.anyio
PATIENCE = 10.0  # seconds
INCARNATION = "w"


@dataclass
class Lane:
    """A lane with a steward's bell, and one worker that takes what it is rung for. `calls`: those of the steward."""

    store: RedisStore
    queue: str
    calls: list[str] = field(default_factory=list[str])
    requests: int = 0
    peeked: anyio.Event = field(default_factory=anyio.Event)

    def watch(self) -> None:
        """Count the steward's calls, and tell of the next one that waits for an entry."""
        ring, peek = self.store.ring, self.store.peek

        async def counted(*lanes: str) -> tuple[int, int]:
            self.calls.append("ring")
            return await ring(*lanes)

        async def noted(lane: str, timeout: float) -> bytes | None:
            self.calls.append("peek")
            if await self.length() == 0:
                self.peeked.set()
            return await peek(lane, timeout)

        self.store.ring, self.store.peek = counted, noted  # type: ignore[method-assign]

    def begin(self) -> None:
        """Count anew; `peeked` tells when the steward has come back to the empty lane."""
        self.calls, self.peeked = [], anyio.Event()

    async def length(self) -> int:
        return int(await self.store.connection.command("LLEN", self.queue))

    async def submit(self, task_id: str) -> None:
        built = build_run(task_id, build_parts("hello"))
        await self.store.submit([Submission(task_id, built.message_id, built.digest, built.operation, self.queue)])

    async def push(self, task_id: str) -> None:
        await self.store.connection.command("RPUSH", self.queue, build_run(task_id, build_parts("hello")).operation)

    async def hear(self) -> bool:
        return await self.store.listen(INCARNATION, [self.queue], PATIENCE) is not None

    async def take(self) -> list[str]:
        self.requests += 1
        pulled = await self.store.pull(INCARNATION, self.requests, 1, [self.queue], [])
        return [delivery.task_id for delivery in pulled.deliveries]


@pytest.fixture
async def lane(redis_settings: RedisSettings) -> AsyncIterator[Lane]:
    async with open_store(redis_settings) as store:
        assert isinstance(store, RedisStore)
        await store.register(Introduction(INCARNATION, "host", "boot", 1, 0))
        lane = Lane(store, redis_settings.queue)
        lane.watch()
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(run_duty, Bell(store, lane.queue).duty(), Health())
                await lane.peeked.wait()
                yield lane
                group.cancel_scope.cancel()


async def test_the_steward_does_not_ring_for_tasks_for_which_their_producer_has_rung(lane: Lane) -> None:
    quiet = 0
    for number in range(20):
        lane.begin()
        await lane.submit(f"t{number}")
        assert await lane.hear()
        assert await lane.take() == [f"t{number}"]
        await lane.peeked.wait()
        quiet += "ring" not in lane.calls
    assert quiet >= 10  # on a busy machine a task may stay longer than the steward trusts its bell


async def test_the_steward_rings_for_each_entry_of_another_producer(lane: Lane) -> None:
    for number in range(5):
        lane.begin()
        await lane.push(f"t{number}")
        assert await lane.hear()
        assert await lane.take() == [f"t{number}"]
        assert lane.calls[0] == "ring"
        await lane.peeked.wait()


async def test_the_steward_rings_for_a_task_whose_bell_was_lost(lane: Lane) -> None:
    await lane.submit("t")
    assert await lane.hear()  # and the worker dies before it asks
    assert await lane.hear()
    assert await lane.take() == ["t"]


async def test_the_steward_rings_for_an_entry_of_another_producer_behind_a_task_that_was_taken(lane: Lane) -> None:
    await lane.submit("ours")
    assert await lane.hear()
    assert await lane.take() == ["ours"]
    await lane.push("theirs")
    assert await lane.hear()
    assert await lane.take() == ["theirs"]
