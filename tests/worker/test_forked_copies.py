"""Processes that a handler forks: they are no workers, and what ends them ends them alone."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.envelope import build_run
from holdfast.core.messages import call_part
from holdfast.core.task_states import State
from holdfast.core.tasks import Submission
from holdfast.exits import ChildExit
from holdfast.ipc.channel import Ready
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.worker.processes import WorkerProcess, booting
from tests.worker.test_worker import answer, settled

pytestmark = pytest.mark.anyio

METHODS = ("fork", "spawn", "forkserver")
WAYS = ("", "-in-a-thread", "-in-the-main-thread")


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
def process(request: pytest.FixtureRequest, redis_settings: RedisSettings, short_path: Path) -> Iterator[WorkerProcess]:
    """The worker of the handlers whose names end as the test's parameter does."""
    chosen = "main" if "main-thread" in request.node.name else "handlers"
    where = {"folder": short_path, "url": redis_settings.url, "queue": redis_settings.queue}
    loop = "asyncio" if "bounded" in request.node.name else "uvloop"
    target = f"tests.worker.forking_handlers:{chosen}"
    with booting(target, **where, concurrency=4, max_attempts=1, loop=loop) as started:
        started.expect(Ready)
        yield started


async def submit(store: RedisStore, *called: tuple[str, dict[str, Any]]) -> list[str]:
    lane = store.connection.keys.queue
    built = [(name, build_run(name, [call_part(name, kwargs)])) for name, kwargs in called]
    await store.submit([Submission(name, b.message_id, b.digest, b.operation, lane, name=name) for name, b in built])
    return [name for name, _ in called]


async def result(store: RedisStore, name: str, **kwargs: Any) -> Any:
    """What this handler returns, which is called once."""
    await submit(store, (name, kwargs))
    record = await settled(store, name)
    assert record.state is State.COMPLETED, record
    return answer(record)


async def still_serves(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "who") == process.pid


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
async def test_a_child_that_is_told_to_end_ends_and_its_worker_does_not(
    store: RedisStore, process: WorkerProcess, method: str, way: str
) -> None:
    assert await result(store, f"terminated{way}", method=method) == -signal.SIGTERM
    await still_serves(store, process)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
async def test_a_pool_is_left_while_its_processes_are_busy(
    store: RedisStore, process: WorkerProcess, method: str, way: str
) -> None:
    assert await result(store, f"left_pool{way}", method=method) == [2, 4]
    await still_serves(store, process)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
async def test_a_manager_and_an_executor_of_processes_end(
    store: RedisStore, process: WorkerProcess, method: str, way: str
) -> None:
    assert await result(store, f"managed{way}", method=method) == [1, 2]
    assert await result(store, f"executed{way}", method=method) == [2, 4]
    await still_serves(store, process)


@pytest.mark.parametrize("way", WAYS)
async def test_a_child_has_no_signal_handler_of_its_worker(store: RedisStore, process: WorkerProcess, way: str) -> None:
    assert await result(store, f"inherited{way}") == []


async def test_handlers_and_a_mask_of_the_users_own_stay(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "own") == [True, True, True]
    assert await result(store, "kept") is True


@pytest.mark.parametrize("name", ["forked", "forked-in-a-thread", "forked-in-the-main-thread", "bounded"])
@pytest.mark.parametrize(
    ("how", "status"), [("returns", 0), ("exits", 3), ("raises", 1), ("signalled", -signal.SIGTERM)]
)
async def test_a_child_that_comes_back_from_the_handler_ends(
    store: RedisStore, process: WorkerProcess, name: str, how: str, status: int
) -> None:
    assert await result(store, name, how=how) == status
    await still_serves(store, process)


async def test_a_child_that_waits_for_the_event_loop_ends(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "waits") == ChildExit.BUG
    await still_serves(store, process)


async def test_a_child_calls_no_other_handler(store: RedisStore, process: WorkerProcess, tmp_path: Path) -> None:
    path = tmp_path / "calls"
    await submit(store, ("waits", {}), ("beside", {"path": str(path)}))
    assert answer(await settled(store, "waits")) == ChildExit.BUG
    await settled(store, "beside")
    assert path.read_text("utf-8").split() == [str(process.pid)]
