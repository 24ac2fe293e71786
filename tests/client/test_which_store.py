"""create_broker() with nothing set: the worker's store inside a worker, else the running supervisor's, else memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from structlog.typing import EventDict

from holdfast import create_broker
from holdfast.client.store_source import RunningSupervisor, SupervisorStore
from holdfast.core.task_states import State
from holdfast.errors import StoreUnavailableError, UnservedTasksError
from holdfast_config import ConfigError, RedisSettings, Settings, service_folders
from holdfastd.control import socket_protocol
from tests.cli.conftest import running

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds
NAMES = ("REDIS_URL", "REDIS_HOST", "SCHEDULER_TYPE", "SCHEDULER__TYPE", "SCHEDULER__URL")


@pytest.fixture(autouse=True)
def nothing_set(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file and no variable says anything of a store; a supervisor of this test would run in `run`."""
    monkeypatch.chdir(short_path)
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(short_path / "run"))
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def logs() -> Iterator[list[EventDict]]:
    with structlog.testing.capture_logs() as captured:
        yield [] if captured is None else captured


AGENT = """
import asyncio
from holdfast import create_broker

async def submit(text):
    async with create_broker() as broker:
        return await broker.manager.run_task(text)

async def handle(messages):
    text = messages[-1]["parts"][0]["text"]
    if text == "outer":
        return [await submit("inner"), await asyncio.to_thread(asyncio.run, submit("inner"))]
    return text.upper()
"""


async def test_inside_a_worker_it_is_the_store_of_the_worker(short_path: Path) -> None:
    (short_path / "agent.py").write_text(AGENT)
    with running(short_path, "--workers", "1", "--queue-name", "other:queue"):
        async with create_broker() as broker:
            outer = await broker.manager.wait(await broker.manager.run_task("outer"), timeout=WITHIN)
            ids = json.loads(outer.result or b"")["parts"][0]["data"]
            assert len(ids) == 2
            for task_id in ids:
                assert b"INNER" in ((await broker.manager.wait(task_id, timeout=WITHIN)).result or b"")


async def test_beside_a_running_supervisor_it_is_its_store_and_one_line_names_it(
    short_path: Path, logs: list[EventDict]
) -> None:
    options = ("examples.wordcount:handle", "--workers", "1", "--queue-name", "other:queue")
    with running(short_path, *options) as (_, process):
        async with create_broker() as broker:
            task_id = await broker.manager.run_task("one two")
            record = await broker.manager.wait(task_id, timeout=WITHIN)
            assert not broker.in_memory
    assert record.state is State.COMPLETED
    [line] = [entry["event"] for entry in logs]
    assert f"the supervisor in {short_path / 'run'} (pid {process.pid}): unix://" in line
    assert "other:queue" in line


async def test_beside_a_supervisor_on_a_redis_it_is_that_redis(short_path: Path, redis_settings: RedisSettings) -> None:
    named = ("--redis-url", redis_settings.url, "--queue-name", redis_settings.queue)
    with running(short_path, "examples.wordcount:handle", "--workers", "1", *named):
        async with create_broker() as broker:
            task_id = await broker.manager.run_task("one two")
            assert (await broker.manager.wait(task_id, timeout=WITHIN)).state is State.COMPLETED


@pytest.mark.parametrize(
    ("changed", "needed"),
    [({"url": "redis://:***@db"}, "REDIS_URL"), ({"storage": "postgres"}, "DATABASE_URL")],
)
def test_a_secret_that_the_supervisor_does_not_tell_is_asked_for(changed: dict[str, str], needed: str) -> None:
    store = SupervisorStore(**{"url": "redis://db", **changed}, embedded=False)
    with pytest.raises(ConfigError, match=needed):
        RunningSupervisor(Path("/run/holdfast"), 7, store).settings(Settings())


async def test_a_supervisor_that_answers_nonsense_is_no_reason_for_memory(short_path: Path) -> None:
    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"what?\n")

    (short_path / "run").mkdir()
    listener = await anyio.create_unix_listener(short_path / "run" / socket_protocol.CONTROL_SOCKET)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        with pytest.raises(StoreUnavailableError, match="does not say which store"):
            async with create_broker():
                pass
        group.cancel_scope.cancel()


async def test_else_it_is_memory_with_a_warning(logs: list[EventDict], short_path: Path) -> None:
    async with create_broker() as broker:
        assert broker.in_memory
    [line] = logs
    assert line["log_level"] == "warning"
    assert f"no supervisor runs in {short_path / 'run'}" in line["event"]


async def test_memory_that_was_asked_for_is_silent(logs: list[EventDict], monkeypatch: pytest.MonkeyPatch) -> None:
    async with create_broker(type="memory") as broker:
        assert broker.in_memory
    monkeypatch.setenv("SCHEDULER_TYPE", "memory")
    async with create_broker() as broker:
        assert broker.in_memory
    assert logs == []


async def test_memory_that_was_asked_for_is_private_beside_a_running_supervisor(short_path: Path) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1"):
        async with create_broker(type="memory") as broker:
            task_id = await broker.manager.run_task("x", delay=60)
            async with create_broker() as other:
                assert await other.manager.count_tasks() == 0
            await broker.manager.cancel_task(task_id)


async def submitting(messages: list[dict[str, Any]]) -> str:
    if messages[-1]["parts"][0]["text"] == "outer":
        async with create_broker() as broker:
            return await broker.manager.run_task("inner")
    return "inner was run"


async def test_inside_a_working_block_it_is_the_store_of_the_block(logs: list[EventDict]) -> None:
    async with create_broker(type="memory") as broker, broker.working(submitting):
        outer = await broker.manager.wait(await broker.manager.run_task("outer"), timeout=WITHIN)
        inner = json.loads(outer.result or b"")["parts"][0]["text"]
        assert (await broker.manager.wait(inner, timeout=WITHIN)).state is State.COMPLETED
    assert [entry for entry in logs if entry["log_level"] == "warning"] == []


@pytest.mark.parametrize("options", [{}, {"delay": 60}])
async def test_leaving_tasks_behind_that_nobody_has_served_raises(options: dict[str, Any]) -> None:
    ids: list[str] = []
    with pytest.raises(UnservedTasksError) as raised:
        async with create_broker(type="memory") as broker:
            ids.append(await broker.manager.run_task("x", **options))
    assert f"1 task waits in memory and will be lost at the end of this block (the first: {ids[0]})" in str(
        raised.value
    )


async def test_tasks_submitted_after_the_last_working_block_are_noticed() -> None:
    async def leave() -> None:
        async with create_broker(type="memory") as broker:
            async with broker.working(submitting):
                await broker.manager.run_task("served", delay=60)
            for text in ("a", "b"):
                await broker.manager.run_task(text)

    with pytest.raises(UnservedTasksError, match="2 tasks wait"):
        await leave()


async def test_a_block_that_raises_says_what_it_raised_and_no_more() -> None:
    async def leave() -> None:
        async with create_broker(type="memory") as broker:
            await broker.manager.run_task("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await leave()


async def test_what_has_ended_or_was_served_may_be_left() -> None:
    async with create_broker(type="memory") as broker:
        await broker.manager.cancel_task(await broker.manager.run_task("x"))
        async with broker.working(submitting):
            await broker.manager.run_task("later", delay=60)


def test_client_and_server_name_one_socket() -> None:
    assert service_folders.CONTROL_SOCKET == socket_protocol.CONTROL_SOCKET
