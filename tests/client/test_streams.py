"""`task.emit` and those who follow a task: early, late, again after a lost connection, and after a rerun."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.to_thread
import pytest
import redis.asyncio

from holdfast import Handlers, Retry, Task, create_broker
from holdfast.app import Broker
from holdfast.client.manager import TaskManager
from holdfast.core.delivery import LONGEST_PART, EmittedPart
from holdfast.core.progress import Progress
from holdfast.core.task_states import State
from holdfast.errors import UnknownTaskError, WouldBlockError
from holdfast.handler.returned_value import NotJsonError
from holdfast.handler.run_notes import PartLog
from holdfast.sync import TaskManager as SyncTaskManager
from holdfast_config import RedisSettings, Settings
from tests.handler.deliveries import delivery_of

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds, to which no test comes unless it fails

handlers = Handlers()
may_go = dict[str, anyio.Event]()  # by task: set, and its handler goes on


async def go_on(task: Task) -> None:
    await may_go.setdefault(task.id, anyio.Event()).wait()


@handlers.register("talk")
async def talk(task: Task, words: int) -> str:
    """Emits a word, and the next one only when the test has it."""
    for number in range(words):
        await task.emit(f"word {number}")
        await go_on(task)
        del may_go[task.id]
    return "said"


@handlers.register("talk at once")
async def talk_at_once(task: Task, words: int) -> str:
    for number in range(words):
        await task.emit({"word": number})
    return "said"


@handlers.register("work")
async def work(task: Task, rows: int) -> str:
    """Shows its progress, and the next one only when the test has it."""
    for number in range(rows):
        task.progress(number + 1, rows, "rows")
        if number < rows - 1:
            await go_on(task)
            del may_go[task.id]
    return "done"


@handlers.register("work in a thread")
def work_in_a_thread(task: Task, rows: int) -> str:
    for number in range(rows):
        task.progress(number + 1, rows)
    return "done"


@handlers.register("talk in a thread")
def talk_in_a_thread(task: Task, words: int) -> str:
    for number in range(words):
        task.emit_sync(number)
    return "said"


@handlers.register("try again")
async def try_again(task: Task) -> str:
    await task.emit(f"run {task.run}")
    if task.run < 3:
        raise Retry(delay=0)
    return "said"


@handlers.register("ask")
async def ask(task: Task) -> dict[str, str]:
    await task.emit("a question comes")
    return {"state": "input-required", "prompt": "which?"}


@pytest.fixture(params=["memory", "redis"])
async def broker(request: pytest.FixtureRequest, redis_settings: RedisSettings) -> AsyncIterator[Broker]:
    settings: dict[str, Any] = {"scheduler_type": "memory"}
    if request.param == "redis":
        settings = {"redis_url": redis_settings.url, "queue_name": redis_settings.queue}
    async with create_broker(Settings(retry_base=0, **settings)) as opened, opened.working(handlers):
        yield opened


async def values(parts: AsyncIterator[EmittedPart]) -> list[object]:
    with anyio.fail_after(WITHIN):
        return [part.value async for part in parts]


async def test_a_reader_has_each_part_while_the_handler_runs(broker: Broker) -> None:
    sent = await talk.submit(3)
    heard = list[tuple[int, int, object]]()
    with anyio.fail_after(WITHIN):
        async for part in sent.stream():
            assert (await sent.record()).state is State.WORKING
            heard.append((part.position, part.run, part.value))
            may_go[sent.task_id].set()
    assert heard == [(1, 1, "word 0"), (2, 1, "word 1"), (3, 1, "word 2")]
    assert (await sent.record()).value == "said"


async def test_a_late_reader_has_what_is_kept(broker: Broker) -> None:
    sent = await talk_at_once.submit(500)
    await sent.wait(timeout=WITHIN)
    parts = [part async for part in broker.manager.stream(sent.task_id)]
    assert [(part.position, part.value) for part in parts] == [(n + 1, {"word": n}) for n in range(500)]
    assert all(part.at_ms >= parts[0].at_ms > 0 for part in parts)
    assert await values(sent.stream(after=498)) == [{"word": 498}, {"word": 499}]
    assert await values(sent.stream(after=500)) == []


async def test_a_reader_that_is_there_before_the_task_begins_has_all(broker: Broker) -> None:
    sent = await talk_at_once.options(delay=0.05).submit(2000)
    assert await values(sent.stream()) == [{"word": n} for n in range(2000)]


async def test_a_handler_in_a_thread_emits_too(broker: Broker) -> None:
    sent = await talk_in_a_thread.submit(20)
    assert await values(sent.stream()) == [*range(20)]


async def test_parts_of_a_later_run_name_it(broker: Broker) -> None:
    sent = await try_again.submit()
    with anyio.fail_after(WITHIN):
        parts = [(part.position, part.run, part.value) async for part in sent.stream()]
    assert parts == [(1, 1, "run 1"), (2, 2, "run 2"), (3, 3, "run 3")]


async def test_the_stream_ends_where_the_task_asks_for_input_and_goes_on_behind_it(broker: Broker) -> None:
    sent = await ask.submit()
    assert await values(sent.stream()) == ["a question comes"]
    await broker.manager.run_task(name="ask", task_id=sent.task_id, message_id="again")
    assert await values(sent.stream(after=1)) == ["a question comes"]


async def test_the_stream_of_a_canceled_task_ends(broker: Broker) -> None:
    sent = await talk.submit(2)
    with anyio.fail_after(WITHIN):
        async for part in sent.stream():
            assert part.value == "word 0"
            await sent.cancel()


async def test_an_unknown_task_has_no_stream(broker: Broker) -> None:
    with pytest.raises(UnknownTaskError, match="nobody"):
        await values(broker.manager.stream("nobody"))


class SentParts(PartLog):
    def __init__(self) -> None:
        self.values: list[bytes] = []

    async def emit(self, value: bytes) -> None:
        self.values.append(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (object(), "JSON has no object"),
        (math.nan, "no NaN"),
        ("x" * LONGEST_PART, f"a part of {LONGEST_PART + 2} bytes: a part may have at most {LONGEST_PART}"),
    ],
)
async def test_what_is_no_part_is_refused_and_sends_nothing(value: object, reason: str) -> None:
    task, sent = Task(delivery_of()), SentParts()
    task.parts = sent
    with pytest.raises(NotJsonError, match=reason):
        await task.emit(value)
    with pytest.raises(NotJsonError, match=reason):
        task.emit_sync(value)
    assert sent.values == []
    await task.emit("a part")
    assert sent.values == [b'"a part"']


async def test_without_a_worker_emitting_does_nothing() -> None:
    task = Task(delivery_of())
    await task.emit("a")
    await anyio.to_thread.run_sync(task.emit_sync, "b")
    with pytest.raises(WouldBlockError, match=r"a coroutine awaits task\.emit"):
        task.emit_sync("c")


async def test_a_reader_outlives_its_subscription(redis_settings: RedisSettings) -> None:
    settings = Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue)
    async with (
        create_broker(settings) as broker,
        broker.working(handlers),
        redis.asyncio.Redis.from_url(redis_settings.url) as admin,
    ):
        sent, heard = await talk.submit(3), list[object]()
        with anyio.fail_after(WITHIN):
            async for part in sent.stream():
                heard.append(part.value)
                assert await admin.client_kill_filter(_type="pubsub")
                may_go[sent.task_id].set()
    assert heard == ["word 0", "word 1", "word 2"]


class Deaf:
    """A store whose notices never come."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def emitted(self, task_id: str) -> AsyncIterator[str]:
        yield ""
        await anyio.sleep_forever()


async def test_a_notice_that_is_lost_costs_only_time(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.client.query.parts.__defaults__", (0.01,))
    deaf: Any = Deaf(broker.manager._store)
    manager = TaskManager(deaf, queue=broker.manager._queue)
    sent, heard = await talk.submit(2), list[object]()
    with anyio.fail_after(WITHIN):
        async with aclosing(manager.stream(sent.task_id)) as parts:
            async for part in parts:
                heard.append(part.value)
                may_go[sent.task_id].set()
    assert heard == ["word 0", "word 1"]


async def test_a_waiter_is_not_woken_by_parts(broker: Broker) -> None:
    """It looks at the task when its subscription stands, at its end, and where the end stays away for long."""
    words = 60
    looks = list[str]()

    class Counted(Deaf):
        async def get(self, task_id: str, **options: Any) -> Any:
            looks.append(task_id)
            return await self._store.get(task_id, **options)

        def settled(self, task_ids: Any) -> Any:
            return self._store.settled(task_ids)

    counted: Any = Counted(broker.manager._store)
    manager = TaskManager(counted, queue=broker.manager._queue)
    sent = await talk.submit(words)
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(manager.wait, sent.task_id)
            async for _ in sent.stream():
                may_go[sent.task_id].set()
    assert len(looks) < words / 2


async def test_readers_without_async(redis_settings: RedisSettings) -> None:
    settings = Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue)
    async with create_broker(settings) as broker, broker.working(handlers):
        sent = await talk_in_a_thread.submit(20)

        def read() -> list[object]:
            with SyncTaskManager(redis_settings) as manager:
                return [part.value for part in manager.stream(sent.task_id)]

        assert await anyio.to_thread.run_sync(read) == [*range(20)]

        def read_by_handle() -> list[object]:
            return [part.value for part in talk_in_a_thread.submit_sync(5).stream()]

        assert await anyio.to_thread.run_sync(read_by_handle) == [*range(5)]


async def test_progress_is_shown_while_the_handler_runs_and_kept_after_its_end(broker: Broker) -> None:
    sent = await work.submit(3)
    seen = list[Progress]()
    with anyio.fail_after(WITHIN):
        async for progress in sent.progress():
            seen.append(progress)
            if progress.done != 3:
                assert (await sent.record()).state is State.WORKING
                may_go[sent.task_id].set()
    assert seen == [Progress(1, 3, "rows"), Progress(2, 3, "rows"), Progress(3, 3, "rows")]
    record = await sent.record()
    assert (record.state, record.progress, record.bar) == (State.COMPLETED, "3/3 rows", Progress(3, 3, "rows"))
    assert [each async for each in sent.progress()] == [Progress(3, 3, "rows")]


async def test_who_waits_may_watch_the_progress(broker: Broker) -> None:
    sent = await work.submit(2)
    seen = list[Progress]()

    def show(progress: Progress) -> None:
        seen.append(progress)
        may_go.setdefault(sent.task_id, anyio.Event()).set()

    record = await broker.manager.wait(sent.task_id, WITHIN, on_progress=show)
    assert (record.state, seen[-1]) == (State.COMPLETED, Progress(2, 2, "rows"))


async def test_the_last_of_thousands_of_calls_in_a_thread_is_kept(broker: Broker) -> None:
    sent = await work_in_a_thread.submit(5000)
    assert (await sent.wait(WITHIN)).progress == "5000/5000"
