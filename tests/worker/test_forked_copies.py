"""Processes that a handler forks: they are no workers, and what ends them ends them alone."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holdfast.core.acceptance import Submission
from holdfast.core.messages import call_part
from holdfast.core.task_states import State
from holdfast.exits import ChildExit
from holdfast.handler.task import Task, TaskOfCopy
from holdfast.ipc.channel import Ready
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.combinations import combined
from tests.envelopes import build_run
from tests.worker.processes import WorkerProcess, booting
from tests.worker.test_worker import answer, settled

pytestmark = pytest.mark.anyio

METHODS = ("fork", "spawn", "forkserver")
WAYS = ("", "-in-a-thread", "-in-the-main-thread")
PROCESSES: dict[str, dict[str, Any]] = {
    "a child that is told to end": {"terminated": -signal.SIGTERM},
    "a pool that is left while its processes are busy": {"left_pool": [2, 4]},
    "a manager and an executor": {"managed": [1, 2], "executed": [2, 4]},
}


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
def process(request: pytest.FixtureRequest, redis_settings: RedisSettings, short_path: Path) -> Iterator[WorkerProcess]:
    """The worker of the handlers whose names end as the test's parameter does."""
    name = request.node.name
    chosen = "main" if "main-thread" in name else "around" if "middleware" in name else "handlers"
    where = {"folder": short_path, "url": redis_settings.url, "queue": redis_settings.queue}
    loop = "asyncio" if "bounded" in name or "asyncio" in name else "uvloop"
    target = f"tests.worker.forking_handlers:{chosen}"
    with booting(target, **where, concurrency=4, max_attempts=1, loop=loop) as started:
        started.expect(Ready)
        yield started


async def submit(store: RedisStore, *called: tuple[str, dict[str, Any]]) -> list[str]:
    lane = store.connection.keys.queue
    named = [(name, uuid4().hex, kwargs) for name, kwargs in called]
    built = [(name, task_id, build_run(task_id, [call_part(name, kwargs)])) for name, task_id, kwargs in named]
    await store.submit([Submission(i, b.message_id, b.digest, b.operation, lane, name=name) for name, i, b in built])
    return [task_id for _, task_id, _ in built]


async def result(store: RedisStore, name: str, **kwargs: Any) -> Any:
    """The value that this handler returns."""
    (task_id,) = await submit(store, (name, kwargs))
    record = await settled(store, task_id)
    assert record.state is State.COMPLETED, record
    return answer(record)


async def still_serves(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "who") == process.pid


@pytest.mark.parametrize(("what", "method", "way"), combined([*PROCESSES], METHODS, WAYS, rounds=2))
async def test_processes_of_multiprocessing_end_and_their_worker_does_not(
    store: RedisStore, process: WorkerProcess, what: str, method: str, way: str
) -> None:
    expected = PROCESSES[what]
    assert {name: await result(store, f"{name}{way}", method=method) for name in expected} == expected
    await still_serves(store, process)


@pytest.mark.parametrize("way", WAYS)
async def test_a_child_has_no_signal_handler_of_its_worker(store: RedisStore, process: WorkerProcess, way: str) -> None:
    assert await result(store, f"inherited{way}") == []


async def test_handlers_and_a_mask_of_the_users_own_stay(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "own") == [True, True, True]
    assert await result(store, "kept") is True


@pytest.mark.parametrize(
    "name",
    [
        "forked",
        "forked-in-a-thread",
        "forked-in-the-main-thread",
        "forked-beside",
        "forked-beside-by-anyio",
        "forked-in-a-pool",
        "forked-in-a-step",
        "bounded",
    ],
)
async def test_a_child_that_comes_back_from_the_handler_ends(
    store: RedisStore, process: WorkerProcess, name: str
) -> None:
    ends = {"returns": 0, "exits": 3, "raises": 1, "signalled": -signal.SIGTERM}
    assert {how: await result(store, name, how=how) for how in ends} == ends
    await still_serves(store, process)


async def test_a_child_that_waits_for_the_event_loop_ends(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "waits") == ChildExit.BUG
    await still_serves(store, process)


async def test_a_child_calls_no_other_handler(store: RedisStore, process: WorkerProcess, tmp_path: Path) -> None:
    path = tmp_path / "calls"
    waits, beside = await submit(store, ("waits", {}), ("beside", {"path": str(path)}))
    assert answer(await settled(store, waits)) == ChildExit.BUG
    await settled(store, beside)
    assert path.read_text("utf-8").split() == [str(process.pid)]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_child_that_waits_calls_nothing_that_is_ready_for_its_worker(
    store: RedisStore, process: WorkerProcess, tmp_path: Path, loop: str
) -> None:
    path = tmp_path / f"calls-{loop}"
    assert await result(store, "others-are-ready", path=str(path)) == ChildExit.BUG
    assert set(path.read_text("utf-8").split()) == {str(process.pid)}


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_child_takes_nothing_from_the_event_loop_of_its_worker(
    store: RedisStore, process: WorkerProcess, loop: str
) -> None:
    assert await result(store, "closes-there") is True


@pytest.mark.parametrize("way", ["", "-in-the-main-thread"])
async def test_a_child_asks_no_signal_handler_of_the_user_anything(
    store: RedisStore, process: WorkerProcess, way: str
) -> None:
    assert await result(store, f"oddly_signalled{way}") == {}
    await still_serves(store, process)


async def test_a_child_that_cannot_leave_its_worker_ends(store: RedisStore, process: WorkerProcess) -> None:
    assert await result(store, "cannot-leave") == [["", ChildExit.BUG], ["[]", 0]]
    await still_serves(store, process)


@pytest.mark.parametrize("way", WAYS)
async def test_a_child_that_asks_its_worker_for_something_gets_an_error(
    store: RedisStore, process: WorkerProcess, way: str
) -> None:
    for call in ("step", "sleep", "question", "emit", "checkpoint", "progress"):
        said, status = await result(store, f"asks{way}", call=call)
        assert said.startswith(f"ForkedProcessError: task.{call}: ")
        assert "\n" not in said
        assert status == 0
    await still_serves(store, process)


async def test_a_child_cannot_call_the_handler_of_its_middleware(store: RedisStore, process: WorkerProcess) -> None:
    said, status = await result(store, "within-in-a-middleware")
    assert said.startswith("ForkedProcessError: ")
    assert status == 0


async def test_a_child_that_calls_the_event_loop_of_its_worker_ends(store: RedisStore, process: WorkerProcess) -> None:
    for how in ("asyncio", "anyio", "directly"):
        assert await result(store, "calls-back", how=how) == ["", ChildExit.BUG]
    await still_serves(store, process)


@pytest.mark.parametrize("way", ["", "-in-the-main-thread"])
async def test_a_child_submits_through_a_connection_of_its_own(
    store: RedisStore, process: WorkerProcess, way: str
) -> None:
    task_id, status = await result(store, f"submits{way}")
    assert status == 0
    assert (await settled(store, task_id)).state is State.COMPLETED


def test_each_call_of_a_task_is_refused_in_a_child_or_asks_nobody() -> None:
    asks_nobody = {"log_fields"}
    of_worker = {"answer", "asked_in", "go_on", "take"}
    calls = {name for name, each in vars(Task).items() if callable(each) and not name.startswith("_")}
    assert calls - asks_nobody - of_worker == {name for name in vars(TaskOfCopy) if not name.startswith("_")}
