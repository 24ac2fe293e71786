"""What happens to one task, followed: steps and parts in their order, each once, to its end, and from a position on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from holdfast import Handlers, Task, create_broker
from holdfast.client.manager import TaskManager
from holdfast.errors import InvalidTaskError, StoreUnavailableError, UnknownTaskError
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings
from holdfastd.web.live.event_streams import BEGINNING, PartEmitted, TaskChanged, TaskPosition, task_updates
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.web_process import SHORT
from tests.servers import serve

pytestmark = pytest.mark.anyio

WITHIN = 60.0  # seconds, to which no test comes unless it fails

handlers = Handlers()
may_go = dict[str, anyio.Event]()


@handlers.register("talk")
async def talk(task: Task, words: int) -> str:
    for number in range(words):
        await task.emit(f"word {number}")
    await may_go.setdefault(task.id, anyio.Event()).wait()
    return "said"


@handlers.register("ask")
async def ask(task: Task) -> dict[str, str]:
    await task.emit("a question comes")
    return {"state": "input-required", "prompt": "which?"}


@asynccontextmanager
async def queue(redis: RedisSettings) -> AsyncIterator[QueueAccess]:
    async with open_store(redis) as store:
        manager = TaskManager(store, queue=redis.queue, retries=SHORT)
        yield QueueAccess(store, manager, Settings(redis_url=redis.url, queue_name=redis.queue))


def told(update: TaskChanged | PartEmitted) -> str:
    """An update in one line: the part, or the state and the steps."""
    match update:
        case PartEmitted(part=part):
            return str(part.value)
        case TaskChanged(record=record, steps=steps):
            return " ".join([f"[{record.state}]", *(step.event for step in steps)])


async def rest(access: QueueAccess, task_id: str, after: TaskPosition = BEGINNING) -> list[str]:
    with anyio.fail_after(WITHIN):
        async with aclosing(task_updates(access, task_id, after)) as updates:
            return [told(update) async for update in updates]


async def test_a_task_is_followed_from_its_acceptance_to_its_end(redis_settings: RedisSettings) -> None:
    redis = redis_settings
    async with queue(redis) as access, create_broker(Settings(redis_url=redis.url, queue_name=redis.queue)) as broker:
        await access.manager.run_task(name="talk", kwargs={"words": 2}, task_id="t")
        with anyio.fail_after(WITHIN):
            async with aclosing(task_updates(access, "t")) as updates:
                seen = [told(await anext(updates))]
                async with broker.working(handlers):
                    while "word 1" not in seen or not any("claimed" in each for each in seen):
                        seen.append(told(await anext(updates)))
                    may_go.setdefault("t", anyio.Event()).set()
                    seen += [told(each) async for each in updates]
        assert seen[0] == "[submitted]"
        assert seen[-1] == "[completed] settled"
        assert [each for each in seen if each.startswith("word")] == ["word 0", "word 1"]
        assert sum("claimed" in each for each in seen) == 1


async def test_a_task_that_has_ended_tells_its_parts_first_and_its_end_last(redis_settings: RedisSettings) -> None:
    redis = redis_settings
    may_go.setdefault("ended", anyio.Event()).set()
    async with queue(redis) as access, create_broker(Settings(redis_url=redis.url, queue_name=redis.queue)) as broker:
        await access.manager.run_task(name="talk", kwargs={"words": 2}, task_id="ended")
        await access.manager.run_task(name="ask", task_id="asks")
        async with broker.working(handlers):
            await access.manager.wait("ended")
            await access.manager.wait("asks")
        assert await rest(access, "ended") == ["word 0", "word 1", "[completed] claimed settled"]
        assert await rest(access, "asks") == ["a question comes", "[input-required] claimed settled"]


async def test_each_position_goes_on_behind_it(redis_settings: RedisSettings) -> None:
    redis = redis_settings
    may_go.setdefault("t", anyio.Event()).set()
    async with queue(redis) as access, create_broker(Settings(redis_url=redis.url, queue_name=redis.queue)) as broker:
        await access.manager.run_task(name="talk", kwargs={"words": 3}, task_id="t")
        async with broker.working(handlers):
            await access.manager.wait("t")
        async with aclosing(task_updates(access, "t")) as updates:
            seen = [(str(each.position), told(each)) async for each in updates]
        for place, (position, _) in enumerate(seen[:-1]):
            later = await rest(access, "t", TaskPosition.read(position))
            assert later == [text for _, text in seen[place + 1 :]], position
        assert await rest(access, "t", TaskPosition.read(seen[-1][0])) == ["[completed]"]


async def test_a_store_that_is_away_is_waited_for(short_path: Path) -> None:
    with serve(short_path, "--appendonly", "yes", "--dir", str(short_path)) as server, anyio.fail_after(WITHIN):
        redis = RedisSettings(url=server.url, queue="q")
        async with queue(redis) as access:
            await access.manager.run_task("hello", task_id="t")
            async with aclosing(task_updates(access, "t")) as updates:
                assert told(await anext(updates)) == "[submitted]"
                os.kill(server.pid, signal.SIGKILL)
                waiting = asyncio.ensure_future(anext(updates))
                with serve(short_path, "--appendonly", "yes", "--dir", str(short_path)):
                    await access.manager.cancel_task("t")
                    assert told(await waiting) == "[canceled] canceled"


async def test_what_cannot_be_followed_is_refused_at_the_first_step(short_path: Path) -> None:
    with serve(short_path) as server:
        async with queue(RedisSettings(url=server.url, queue="q")) as access:
            for task_id, expected in (("none", UnknownTaskError), ("", InvalidTaskError)):
                with pytest.raises(expected):
                    await anext(task_updates(access, task_id))
            os.kill(server.pid, signal.SIGKILL)
            with pytest.raises(StoreUnavailableError):
                await anext(task_updates(access, "t"))


@pytest.mark.parametrize("text", ["", "1", "1-2", "1-2-3-4", "a-b-c", "1--2", "-1-2-3", "²-1-1", "9" * 20 + "-1-1"])
def test_a_text_that_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is expected"):
        TaskPosition.read(text)
