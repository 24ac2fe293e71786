"""Lifespans: opened once a worker before it is ready, closed at its end; their values reach handlers by annotation."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, NewType

import anyio
import pytest

from holdfast import Handlers, Task, TaskManager, create_broker, read_result
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.publication import describe
from holdfast.ipc.channel import BootFailed, Drained, Ready
from holdfast_config import RedisSettings, Settings
from tests.worker.processes import PATIENCE, WorkerProcess, booting
from tests.worker.test_worker import client, settled, store, submit

__all__ = ["client", "store"]

pytestmark = pytest.mark.anyio

Begin = Callable[..., AbstractContextManager[WorkerProcess]]

Region = NewType("Region", str)


class Pool:
    def __init__(self, name: str) -> None:
        self.name = name


class Cache:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool


async def outcome(manager: TaskManager, name: str | None = None, **kwargs: Any) -> Any:
    """The result of one task, or its error."""
    text = None if name else "hello"
    record = await manager.wait(await manager.run_task(text, name=name, kwargs=kwargs or None), timeout=30)
    return read_result(record.result).value


@pytest.fixture
def begin(redis_settings: RedisSettings, short_path: Path) -> Begin:
    def begun(app: str, **flags: object) -> AbstractContextManager[WorkerProcess]:
        target = f"tests.worker.lifespan_apps:{app}"
        return booting(target, folder=short_path, url=redis_settings.url, queue=redis_settings.queue, **flags)

    return begun


async def test_its_value_reaches_handlers_of_every_kind_by_annotation() -> None:
    handlers, told = Handlers(), list[str]()

    @handlers.register("early")  # before the lifespan: inspected anew
    async def early(pool: Pool, region: str) -> str:
        return f"{pool.name} {region}"

    @handlers.lifespan
    async def open_pool() -> AsyncIterator[Pool]:
        told.append("pool open")
        yield Pool("p")
        told.append("pool closed")

    @handlers.lifespan
    def open_cache(pool: Pool) -> Iterator[Cache]:
        told.append(f"cache open beside the loop: {threading.current_thread() is not threading.main_thread()}")
        yield Cache(pool)
        told.append("cache closed")

    @handlers.lifespan
    @asynccontextmanager
    async def say() -> AsyncIterator[None]:
        told.append("said")
        yield

    @handlers.lifespan
    def region() -> Iterator[Region]:
        yield Region("eu")

    @handlers.register("plain", timeout=30)
    def plain(cache: Annotated[Cache, "shared"], task: Task, where: Region, pool: Pool | None = None) -> str:
        return f"{cache.pool is pool} {where} {task.name}"

    @handlers.default
    async def answer(messages: list[Any], somewhere: Region, pool: Pool) -> AsyncIterator[str]:
        yield "progress"
        yield f"{messages[0]['content']} {pool.name} {somewhere}"

    async with create_broker(type="memory", handlers=handlers) as broker:
        async with broker.working(handlers):
            assert told == ["pool open", "cache open beside the loop: True", "said"]
            assert await outcome(broker.manager, "early", region="us") == "p us"
            assert await outcome(broker.manager, "plain") == "True eu plain"
            assert await outcome(broker.manager) == "hello p eu"
        assert told[3:] == ["cache closed", "pool closed"]
        taken = {one.name: one.takes for one in describe(handlers.frozen("app:handlers"))}
        assert taken["plain"] == ("task", "cache (of a lifespan)", "where (of a lifespan)", "pool (of a lifespan)")


async def test_a_task_cannot_pass_what_a_lifespan_yields() -> None:
    handlers = Handlers()

    @handlers.lifespan
    async def open_pool() -> AsyncIterator[Pool]:
        yield Pool("p")

    @handlers.register("open")
    async def any_arguments(pool: Pool, **others: object) -> str:
        return pool.name

    async with create_broker(type="memory") as broker, broker.working(handlers):
        record = await broker.manager.wait(await broker.manager.run_task(name="open", kwargs={"pool": "mine"}))
        assert (record.state, record.reason) == ("rejected", "unexpected arguments: pool")
        assert await outcome(broker.manager, "open", other=1) == "p"


async def test_each_worker_has_its_own() -> None:
    handlers, pools = Handlers(), list[Pool]()

    @handlers.lifespan
    async def open_pool() -> AsyncIterator[Pool]:
        pools.append(Pool(str(len(pools))))
        yield pools[-1]

    met = anyio.Event()
    used = set[str]()

    @handlers.default
    async def both(pool: Pool) -> None:
        used.add(pool.name)
        if len(used) == 2:
            met.set()
        await met.wait()  # the other worker has the other task

    settings = Settings(scheduler_type="memory", concurrency=1)  # type: ignore[call-arg]  # the others have defaults
    async with create_broker(settings) as broker, broker.working(handlers, workers=2):
        ids = [await broker.manager.run_task("hello") for _ in range(2)]
        for task_id in ids:
            assert (await broker.manager.wait(task_id, timeout=30)).state == "completed"
    assert len(pools) == 2


async def test_it_is_open_before_the_worker_is_ready_and_closed_at_its_drain(
    begin: Begin, store: Any, client: Any
) -> None:
    client.delete("lifespan")
    with begin("whole") as process:
        process.expect(Ready)
        assert client.lrange("lifespan", 0, -1) == ["open"]
        await submit(store, "a", "b")
        for word in ("a", "b"):
            await settled(store, word)
        process.drain()
        assert process.expect(Drained).released == 0
        assert process.wait() == ChildExit.OK
    assert client.lrange("lifespan", 1, -1) in (["closed after a b"], ["closed after b a"])


async def test_one_that_does_not_close_is_cancelled_in_time(begin: Begin, client: Any) -> None:
    client.delete("lifespan")
    with begin("slow_to_close", drain_timeout=30) as process:
        process.expect(Ready)
        process.drain(seconds=0.1, cancel_after=0.1)
        assert process.wait() == ChildExit.OK
    assert client.lrange("lifespan", 0, -1) == ["closing", "cancelled"]


@pytest.mark.parametrize(
    ("app", "error"),
    [
        ("raises", "the lifespan 'no_database' failed before its yield: ConnectionError: no database"),
        ("raises_in_thread", "the lifespan 'no_disk' failed before its yield: OSError: no disk"),
        (
            "without_yield",
            "the lifespan 'forgets' ended without a yield: a lifespan must yield once, when its value is open",
        ),
        ("hangs", "the lifespan 'waits' did not yield within 0.4 s (see --boot-timeout)"),
        ("hangs_in_thread", "the lifespan 'waits_in_thread' did not yield within 0.4 s (see --boot-timeout)"),
    ],
)
async def test_one_that_cannot_be_opened_is_a_boot_failure(begin: Begin, app: str, error: str) -> None:
    with begin(app, boot_timeout=0.5) as process:
        failed = process.expect(BootFailed)
        assert (failed.code, failed.error) == (ChildExit.BOOT_FAILED, error)
        assert ("no_d" in failed.traceback) == ("raises" in app)  # the user's frames
        assert process.wait() == ChildExit.BOOT_FAILED
        assert not [message for message in process.seen if isinstance(message, Ready)]


async def test_a_worker_that_is_told_to_stop_opens_no_further(begin: Begin) -> None:
    with begin("hangs", boot_timeout=3600) as process:
        process.drain()
        assert process.wait() == ChildExit.OK
        process.expect(Drained)


async def test_a_later_one_that_fails_closes_the_earlier() -> None:
    handlers, told = Handlers(), list[str]()

    @handlers.lifespan
    async def first() -> AsyncIterator[None]:
        yield
        told.append("closed")

    @handlers.lifespan
    async def second() -> AsyncIterator[None]:
        raise LookupError("gone")
        yield

    handlers.default(first_word)
    async with create_broker(type="memory") as broker:
        with pytest.raises(HandlerError, match="the lifespan 'second' failed before its yield: LookupError: gone"):
            async with broker.working(handlers):
                pytest.fail("it works")
    assert told == ["closed"]


async def test_one_whose_task_group_fails_ends_its_worker() -> None:
    handlers, told = Handlers(), list[str]()
    fail, seen = anyio.Event(), anyio.Event()

    async def background() -> None:
        await fail.wait()
        raise LookupError("the feed broke")

    @handlers.lifespan
    async def feed() -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(background)
                yield
        except* LookupError:
            told.append("cleaned up")
            raise

    @handlers.default
    async def begins(task: Task) -> None:
        fail.set()
        try:
            await anyio.sleep_forever()
        finally:
            told.append(f"stopped in delivery {task.delivery}")
            seen.set()

    async with create_broker(type="memory") as broker:
        async with broker.working(handlers):
            task_id = await broker.manager.run_task("hello")
            with anyio.fail_after(PATIENCE):
                await seen.wait()
        assert told == ["cleaned up", "stopped in delivery 1"]
        record = await broker.manager.get_task(task_id)
        assert (record.state, record.attempts) == ("submitted", 0)  # given back


def first_word(messages: list[dict[str, Any]]) -> str:
    return str(messages[0]["content"])


async def yields_text() -> AsyncIterator[str]:
    yield ""


async def yields_dict() -> AsyncIterator[dict[str, Pool]]:
    yield {}


async def yields_something():  # type: ignore[no-untyped-def]
    yield 1


async def yields_pool(other: Cache) -> AsyncIterator[Pool]:
    yield other.pool


async def yields_unknown() -> AsyncIterator[NotThere]:  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    yield None


async def is_no_generator() -> Pool:
    return Pool("p")


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (yields_text, "the lifespan 'yields_text' yields str, and arguments of tasks may have this type, too"),
        (yields_dict, "'yields_dict' yields dict, and arguments of tasks may have this type, too"),
        (yields_something, "'yields_something' does not say what it yields: annotate what it yields, as in"),
        (yields_pool, r"'yields_pool' has parameters that Holdfast cannot fill in \(other\)"),
        (yields_unknown, "'yields_unknown': its annotations cannot be looked up .*NotThere"),
        (
            is_no_generator,
            "'is_no_generator' is no generator function: write a generator that opens a value, yields it once",
        ),
        (Pool, "'Pool' is no generator function"),
    ],
)
def test_a_function_that_cannot_be_one_is_refused(function: Any, error: str) -> None:
    with pytest.raises(HandlerError, match=error):
        Handlers().lifespan(function)


def test_a_type_comes_from_one_lifespan() -> None:
    handlers = Handlers()

    def pool() -> Iterator[Pool]:
        yield Pool("p")

    handlers.lifespan(pool)
    with pytest.raises(HandlerError, match="'pool' yields Pool, but an earlier lifespan yields this type, too"):
        handlers.lifespan(pool)
