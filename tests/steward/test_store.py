"""The steward with a real store: tasks that go back, once, whatever is killed meanwhile."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import redis

from holdfast.core.acceptance import Submission
from holdfast.core.counts import Epoch
from holdfast.core.delivery import Standing
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.worker_records import Introduction
from holdfast.ipc.channel import Acknowledged, Born, Died, Ready
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duties.lane_duties import LaneAudit
from holdfastd.steward.duties.upkeep import retention
from holdfastd.steward.duty import Health
from tests.servers import valkey
from tests.steward.process import PATIENCE, steward

if TYPE_CHECKING:
    from holdfast.store import Store

pytestmark = pytest.mark.anyio

RUN = b'{"operation": "run", "params": {"task_id": "%s", "context_id": "c", "message": {"message_id": "m"}}}'


@pytest.fixture
def settings(server_url: str, short_path: Path) -> Settings:
    (short_path / "incarnations").mkdir()
    queue = f"test:{uuid4().hex}"
    return Settings(redis_url=server_url, queue_name=queue, runtime_dir=short_path, lease=1, lease_grace=0.2)


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[Store]:
    async with open_store(settings.redis) as store:
        yield store


async def submit(store: Store, lane: str, *, delay_ms: int | None = None) -> str:
    task_id = str(uuid4())
    await store.submit([Submission(task_id, "m", "d", RUN % task_id.encode(), lane, delay_ms=delay_ms)])
    return task_id


async def working(store: Store, lane: str, tasks: int = 1) -> tuple[str, list[str]]:
    """A worker that has claimed some tasks and is never heard of again."""
    incarnation = uuid4().hex
    ids = [await submit(store, lane) for _ in range(tasks)]
    assert await store.register(Introduction(incarnation, "host", "boot", 1, 0)) == Standing.OK
    claimed: list[str] = []
    for request in range(1, tasks + 1):  # one pull may bring less than all: others have their share
        pulled = await store.pull(incarnation, request, tasks - len(claimed), [lane], [])
        claimed += [each.task_id for each in pulled.deliveries]
    assert claimed == ids
    return incarnation, ids


async def records(store: Store, ids: list[str]) -> list[TaskRecord]:
    tasks = [await store.get(task_id) for task_id in ids]
    return [record for record in tasks if record is not None]


@pytest.mark.parametrize(("charged", "crashes"), [(True, 1), (False, 0)])
async def test_what_a_dead_worker_held_goes_back(settings: Settings, store: Store, charged: bool, crashes: int) -> None:
    incarnation, ids = await working(store, settings.queue_name, tasks=3)
    with steward(settings) as child:
        child.tell(Born(incarnation), Died(incarnation, "signal 9", charged))
        assert child.hear(Acknowledged) == Acknowledged(incarnation, 3)
    back = await records(store, ids)
    assert [(record.state, record.crashes) for record in back] == [(State.SUBMITTED, crashes)] * 3


async def test_killed_between_the_record_and_its_acknowledgement_the_next_one_acknowledges(
    settings: Settings, store: Store
) -> None:
    incarnation, ids = await working(store, settings.queue_name, tasks=2)
    death = Died(incarnation, "signal 9", charged=True)
    with steward(settings, dies="after-recovering") as child:
        child.hear(Ready)
        child.tell(death)
        assert child.exit_code() == -9
    with steward(settings, first=False) as child:
        child.tell(death)
        assert child.hear(Acknowledged) == Acknowledged(incarnation, 0)
    assert [(record.state, record.crashes) for record in await records(store, ids)] == [(State.SUBMITTED, 1)] * 2


async def test_killed_before_the_store_recorded_a_death_the_next_one_records_it(
    settings: Settings, store: Store
) -> None:
    incarnation, ids = await working(store, settings.queue_name, tasks=2)
    death = Died(incarnation, "signal 9", charged=True)
    with steward(settings, dies="before-recovering") as child:
        child.hear(Ready)
        child.tell(death)
        assert child.exit_code() == -9
    with steward(settings, first=False) as child:
        child.tell(death)
        assert child.hear(Acknowledged) == Acknowledged(incarnation, 2)
    assert [(record.state, record.crashes) for record in await records(store, ids)] == [(State.SUBMITTED, 1)] * 2


async def test_two_stewards_at_once_put_everything_back_once(settings: Settings, store: Store) -> None:
    deaths = [Died((await working(store, settings.queue_name, 2))[0], "signal 9", charged=True) for _ in range(20)]
    with ExitStack() as stack:
        children = [stack.enter_context(steward(settings)) for _ in range(2)]
        for child in children:
            child.hear(Ready)
        for child in children:
            child.tell(*deaths)
        counts = [child.hear(Acknowledged).recovered for child in children for _ in deaths]
    assert sum(counts) == 40
    assert (await store.counts()).lanes[settings.queue_name] == 40


async def test_a_producer_that_only_pushes_is_rung_for(settings: Settings, store: Store) -> None:
    incarnation = uuid4().hex
    await store.register(Introduction(incarnation, "host", "boot", 1, 0))
    with steward(settings) as child:
        child.hear(Ready)
        await push(settings, b"anything")
        hint = await store.listen(incarnation, [settings.queue_name], PATIENCE)
    assert hint is not None
    assert hint.kind == "bell"


async def push(settings: Settings, entry: bytes) -> None:
    import redis.asyncio

    async with redis.asyncio.Redis.from_url(settings.store_url) as client:
        await client.rpush(settings.queue_name, entry)


async def take(settings: Settings) -> bytes | None:
    import redis.asyncio

    async with redis.asyncio.Redis.from_url(settings.store_url) as client:
        return await client.lpop(settings.queue_name)


async def test_a_delayed_task_is_submitted_when_it_is_due_though_it_came_while_the_steward_rested(
    settings: Settings, store: Store
) -> None:
    with steward(settings) as child:
        child.hear(Ready)
        await submit(store, settings.queue_name, delay_ms=3_600_000)
        task_id = await submit(store, settings.queue_name, delay_ms=50)
        assert await store.peek(settings.queue_name, PATIENCE)
    (record,) = await records(store, [task_id])
    assert record.state == State.SUBMITTED


async def test_a_lost_worker_is_reaped_and_a_vouched_one_is_not(settings: Settings, store: Store) -> None:
    _lost, lost_ids = await working(store, settings.queue_name)
    ours, our_ids = await working(store, settings.queue_name)
    with steward(settings) as child:
        child.tell(Born(ours))
        child.hear(Ready)
        assert await store.peek(settings.queue_name, PATIENCE)
    (back,), (held,) = await records(store, lost_ids), await records(store, our_ids)
    assert (back.state, back.crashes) == (State.SUBMITTED, 0)
    assert (held.state, held.owner) == (State.WORKING, ours)


async def test_an_entry_that_somebody_took_is_put_back(settings: Settings, store: Store) -> None:
    await submit(store, settings.queue_name)
    audit = LaneAudit(store, settings.queue_name)
    await audit.run_once()
    assert await take(settings) is not None
    await audit.run_once()
    await audit.run_once()
    assert await store.peek(settings.queue_name, 0.01)


async def test_tasks_that_ended_long_ago_are_deleted(settings: Settings, store: Store) -> None:
    ended, waiting = [await submit(store, settings.queue_name) for _ in range(2)]
    await store.cancel(ended, "enough")
    while await store.get(ended) is not None:
        await retention(store, 0.0, ClockWatch(store, Health(), 15.0, time.monotonic)).run_once()
    assert await store.get(waiting) is not None


async def test_a_store_keeps_its_epoch_until_it_is_emptied_and_then_knows_what_it_lost(
    short_path: Path,
) -> None:
    with valkey(short_path) as url:
        async with open_store(RedisSettings(url, queue="q")) as store:
            first = await store.epoch(Epoch("", 0), "one")
            assert (first.name, first.emptied_ago_ms) == ("one", None)
            await submit(store, "q")
            held = await store.epoch(first, "two")
            assert (held.name, held.tasks, held.emptied_ago_ms) == ("one", 1, None)
            with redis.Redis.from_url(url) as client:
                client.flushall()
            emptied = await store.epoch(held, "three")
            assert (emptied.name, emptied.tasks, emptied.lost) == ("three", 0, 1)
            assert emptied.emptied_ago_ms is not None
            late = await store.epoch(Epoch("one", 99), "four")  # another steward's: what is written down stands
            assert (late.name, late.lost) == ("three", 1)
            stranger = await store.epoch(Epoch("", 0), "five")
            assert (stranger.name, stranger.lost) == ("three", 1)
