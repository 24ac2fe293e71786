"""Handlers of which only so many run at once, in a real worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.begun_page import RUNS
from holdfast.core.task_states import State
from holdfast.ipc.channel import Beat, Drained
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfastd.steward.roster import LockFiles
from tests.worker.processes import PATIENCE, WorkerProcess, worker

pytestmark = pytest.mark.anyio
Start = Callable[..., AbstractContextManager[WorkerProcess]]


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
def manager(store: RedisStore, redis_settings: RedisSettings) -> TaskManager:
    return TaskManager(store, queue=redis_settings.queue)


@pytest.fixture
def client(redis_settings: RedisSettings) -> Iterator[Any]:
    """Lists that the handlers speak through; `go:` ones of this test's own words."""
    import redis

    with redis.Redis.from_url(redis_settings.url, decode_responses=True) as opened:
        opened.delete("started", "stopped")
        yield opened


@pytest.fixture
def start(redis_settings: RedisSettings, short_path: Path) -> Start:
    def begin(**flags: object) -> AbstractContextManager[WorkerProcess]:
        return worker("named", folder=short_path, url=redis_settings.url, queue=redis_settings.queue, **flags)

    return begin


def started(client: Any) -> str:
    popped = client.blpop(["started"], timeout=PATIENCE)
    assert popped, "no handler started"
    return str(popped[1].split()[0])


async def claimed(store: RedisStore, wanted: int) -> None:
    """Return once so many deliveries were claimed."""
    position = ""
    with anyio.fail_after(PATIENCE):
        while wanted > 0:
            happened = (await store.events(position, 100, 1.0)).events
            wanted -= sum(one.event == "claimed" for one in happened)
            position = happened[-1].position if happened else position


def narrow(*task_ids: str) -> list[TaskSpec]:
    return [TaskSpec(name="narrow", task_id=task_id) for task_id in task_ids]


async def test_one_at_a_time_and_all_of_them(manager: TaskManager, start: Start, client: Any) -> None:
    ids = [f"n{n}" for n in range(6)]
    await manager.run_tasks(narrow(*ids))
    begun: list[str] = []  # the handler rejects a second one beside itself
    with start(concurrency=4):
        for _ in ids:
            begun.append(started(client))
            client.rpush(f"go:{begun[-1]}", "on")
        with anyio.fail_after(PATIENCE):
            async for record in manager.wait_all(ids):
                assert record.state == State.COMPLETED, record.reason
                assert (record.attempts, record.crashes, record.releases) == (0, 0, 0)
    assert sorted(begun) == ids


async def test_a_full_handler_does_not_keep_others_from_running(
    manager: TaskManager, start: Start, client: Any
) -> None:
    """More tasks of it wait than the worker has slots, and all came before."""
    await manager.run_tasks(narrow(*(f"n{n}" for n in range(12))))
    await manager.run_tasks([TaskSpec(text=f"other{n}", task_id=f"other{n}") for n in range(2)])
    with start(concurrency=4):
        begun = {started(client) for _ in range(3)}
        assert {"other0", "other1"} < begun
        assert await manager.count_tasks("delayed") > 0
        for word in begun:
            client.rpush(f"go:{word}", "on")
        with anyio.fail_after(PATIENCE):
            async for record in manager.wait_all(["other0", "other1"]):
                assert record.state == State.COMPLETED


async def test_what_was_not_begun_does_not_wear_a_worker_out(manager: TaskManager, start: Start, client: Any) -> None:
    await manager.run_tasks(narrow(*(f"n{n}" for n in range(8))))
    with start(concurrency=4, max_tasks=3):
        for _ in range(3):
            client.rpush(f"go:{started(client)}", "on")


async def test_a_task_that_waits_for_a_place_can_be_canceled_and_drained(
    store: RedisStore, manager: TaskManager, start: Start, client: Any
) -> None:
    with start(concurrency=8) as process:
        await manager.run_tasks(narrow("first"))
        assert started(client) == "first"
        await manager.run_tasks(narrow("second", "third"))
        await claimed(store, 3)  # two of them wait inside the worker
        await manager.cancel_task("second")
        process.drain(cancel_after=0.0)
        process.expect(Drained)
    states = [(await manager.get_task(task_id)).state for task_id in ("first", "second", "third")]
    assert states == [State.SUBMITTED, State.CANCELED, State.SUBMITTED]
    releases = [(await manager.get_task(task_id)).releases for task_id in ("first", "third")]
    assert releases == [1, 0]  # the third had not begun


async def test_what_waits_for_a_place_has_not_begun(
    manager: TaskManager, start: Start, client: Any, short_path: Path
) -> None:
    """The death of the worker is charged to the task that ran, and to no other, by any finder."""
    ids = ["first", "second", "third"]
    with start(concurrency=8) as process:
        await manager.run_tasks(narrow(*ids))
        assert started(client) == "first"
        while process.expect(Beat).running != ids:
            pass
        process.kill()
        process.wait()
        pages = LockFiles(short_path / "run" / "incarnations")
        assert pages.begun(process.incarnation) == {"first": RUNS}


async def test_a_handlers_own_attempts_count_before_the_workers(manager: TaskManager, start: Start) -> None:
    with start(max_attempts=5):
        record = await manager.wait(await manager.run_task(name="patient"), timeout=PATIENCE)
    assert (record.state, record.dead, record.deliveries) == (State.FAILED, True, 1)


async def test_arguments_that_do_not_fit_reject_the_task(manager: TaskManager, start: Start) -> None:
    with start():
        record = await manager.wait(await manager.run_task(name="narrow", kwargs={"a": 1}), timeout=PATIENCE)
    assert (record.state, record.reason) == (State.REJECTED, "unexpected arguments: a")
