"""The framework's own workers take tasks from our queue: each task is held by one of them, and outlives it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from typing import TYPE_CHECKING
from uuid import UUID

import anyio
import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

from holdfast.bindu import connect
from holdfast.store import open_store
from tests.bindu.asking import shown, submit
from tests.bindu.recorder import Recorder
from tests.cli.commands import ROOT, clean
from tests.forked import SUPERVISOR

if TYPE_CHECKING:
    from holdfast.bindu import SchedulerAndStorage
    from holdfast_config import Settings

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def aclosing_storage(pair: SchedulerAndStorage) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await pair.storage.close()


@asynccontextmanager
async def consuming(settings: Settings) -> AsyncIterator[Recorder]:
    """A worker of the framework, as one of its applications would run it."""
    pair = connect(settings, consume=True)
    async with aclosing_storage(pair), pair.scheduler:
        recorder = Recorder(pair)
        async with recorder.run():
            yield recorder
            recorder.go.set()


@contextmanager
def process(settings: Settings, **changed: object) -> Iterator[subprocess.Popen[str]]:
    """The same in a process of its own, ready."""
    given = {"redis_url": settings.store_url, "queue_name": settings.queue_name, **changed}
    given.setdefault("runtime_dir", str(settings.runtime_dir))
    command = [sys.executable, "-m", "tests.bindu.recorder", json.dumps(given)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as made:
        try:
            until(made, "ready")
            yield made
        finally:
            made.kill()


def until(made: subprocess.Popen[str], line: str) -> None:
    """Read its output up to this line."""
    assert made.stdout is not None
    for each in made.stdout:
        if each.strip() == line:
            return
    raise AssertionError(f"it ended without {line}")


async def test_each_task_goes_to_exactly_one_worker(pair: SchedulerAndStorage, settings: Settings) -> None:
    ids = [await submit(pair, f"{number}") for number in range(40)]
    async with consuming(settings) as one, consuming(settings) as other:
        for task_id in ids:
            task = await shown(pair.storage, task_id, "completed")
            assert task["artifacts"][0]["artifact_id"] == task_id
    assert sorted(one.begun + other.begun, key=int) == [f"{number}" for number in range(40)]


async def test_what_a_worker_reads_of_its_task_is_as_it_has_left_it(
    pair: SchedulerAndStorage, settings: Settings
) -> None:
    async with consuming(settings) as worker:
        task_id = await submit(pair, "wait")
        await worker.until("wait")
        await shown(worker.storage, task_id, "working")
        assert (await shown(pair.storage, task_id, "working"))["artifacts"] == []
        worker.go.set()
        await shown(pair.storage, task_id, "completed")


@pytest.mark.parametrize("how", ["wait", "linger"])
async def test_a_busy_worker_claims_nothing_for_later(pair: SchedulerAndStorage, settings: Settings, how: str) -> None:
    """Also when its task has ended, and it has not come back."""
    async with consuming(settings) as busy:
        first = await submit(pair, how)
        await shown(pair.storage, first, "working" if how == "wait" else "completed")
        second = await submit(pair, "second")
        async with consuming(settings) as idle:
            await shown(pair.storage, second, "completed")
            assert (busy.begun, idle.begun) == ([how], ["second"])


async def test_a_worker_that_leaves_gives_back_what_it_holds(pair: SchedulerAndStorage, settings: Settings) -> None:
    pairs = connect(settings, consume=True)
    async with aclosing_storage(pairs), pairs.scheduler:
        leaving = Recorder(pairs)
        async with leaving.run():
            task_id = await submit(pair, "wait")
            await leaving.until("wait")
    async with consuming(settings) as other:
        await other.until("wait")
        other.go.set()
        await shown(pair.storage, task_id, "completed")
    async with open_store(settings.redis) as store:
        record = await store.get(str(task_id))
        assert record is not None
        assert (record.deliveries, record.releases, record.crashes) == (2, 1, 0)
        assert await store.workers() == [], "who leaves is not waited for"


async def test_what_a_worker_says_of_a_canceled_task_counts_no_more(
    pair: SchedulerAndStorage, settings: Settings
) -> None:
    async with consuming(settings) as worker:
        task_id = await submit(pair, "wait")
        await worker.until("wait")
        await shown(pair.storage, task_id, "working")
        assert await pair.storage.update_task_state_if(task_id, "working", "canceled")
        worker.go.set()
        await shown(pair.storage, await submit(pair, "next"), "completed")
        assert worker.begun == ["wait", "next"]
        assert (await shown(pair.storage, task_id, "canceled"))["artifacts"] == []


async def test_a_worker_that_the_store_gave_up_on_goes_on_as_another_one(
    pair: SchedulerAndStorage, settings: Settings
) -> None:
    async with consuming(settings) as worker, open_store(settings.redis) as store:
        task_id = await submit(pair, "wait")
        await worker.until("wait")
        [known] = await store.workers()
        await store.recover(known.incarnation, "a test", charged=False)
        worker.go.set()
        await shown(pair.storage, task_id, "completed")
        await shown(pair.storage, await submit(pair, "next"), "completed")
        assert known.incarnation not in {each.incarnation for each in await store.workers()}


async def test_a_task_outlives_the_process_that_held_it_when_its_lease_has_lapsed(
    pair: SchedulerAndStorage, settings: Settings
) -> None:
    with process(settings, lease=1.0) as holder:
        task_id = await submit(pair, "wait")
        await anyio.to_thread.run_sync(until, holder, str(task_id))
        holder.kill()
    async with consuming(settings) as other, open_store(settings.redis) as store:
        with anyio.fail_after(30):
            while not await store.reap(1000, 100):  # noqa: ASYNC110 - as a steward does: it waits for time
                await anyio.sleep(0.05)
        await other.until("wait")
        other.go.set()
        await shown(pair.storage, task_id, "completed")


@contextmanager
def supervisor(settings: Settings, handler: str) -> Iterator[None]:
    """A supervisor whose workers serve another lane: here it only looks after others."""
    options = {"--redis-url": settings.store_url, "--queue-name": settings.queue_name, "-Q": "elsewhere"}
    folders = {"--runtime-dir": str(settings.runtime_dir), "--state-dir": str(settings.runtime_dir)}
    flags = [word for pair in {**options, **folders}.items() for word in pair]
    command = [SUPERVISOR, "start", handler, *flags, "--log-format", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=clean({})) as made:
        try:
            assert made.stderr is not None
            ready = (line for line in made.stderr if '"ready"' in line)
            assert len(list(islice(ready, 2))) == 2, "neither a steward nor a worker"
            yield
        finally:
            made.terminate()
            made.communicate(timeout=60)


async def test_a_supervisor_of_the_same_host_sees_the_death_by_its_lock(
    pair: SchedulerAndStorage, settings: Settings
) -> None:
    """Long before the lease, which is left at an hour, would have told."""
    hour = settings.model_copy(update={"lease": 3600.0})
    with supervisor(settings, "tests.bindu.handlers:answer"), process(settings, lease=3600.0) as holder:
        task_id: UUID = await submit(pair, "wait")
        await anyio.to_thread.run_sync(until, holder, str(task_id))
        async with consuming(hour) as other:
            holder.kill()
            await other.until("wait")
            other.go.set()
            await shown(pair.storage, task_id, "completed")
