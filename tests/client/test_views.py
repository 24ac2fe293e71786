"""TaskManager shows what the command line prints: events, workers, lanes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import pytest

from holdfast import MissedEvents, TaskManager, create_broker, open_store
from holdfast.core.activity import Happening
from holdfast.errors import InvalidTaskError, UnknownTaskError
from holdfast.sync import TaskManager as SyncTaskManager
from holdfast_config import RedisSettings, Settings
from tests.cli.commands import Cli
from tests.servers import serve

pytestmark = pytest.mark.anyio

PATIENCE = 30.0  # seconds; reached only by a test that fails

Events = AsyncGenerator[Happening | MissedEvents, None]


@pytest.fixture
def settings(cli: Cli) -> RedisSettings:
    _, url, _, queue = cli.options
    return RedisSettings(url=url, queue=queue)


@pytest.fixture
async def manager(settings: RedisSettings) -> AsyncIterator[TaskManager]:
    async with open_store(settings) as store:
        yield TaskManager(store, queue=settings.queue)


async def some(events: Events, count: int) -> list[Any]:
    """The next events."""
    with anyio.fail_after(PATIENCE):
        return [await anext(events) for _ in range(count)]


def names(events: list[Any]) -> list[tuple[str, str]]:
    return [(event.event, event.subject) for event in events]


def printed(event: Any) -> dict[str, Any]:
    return {"position": event.position, "event": event.event, "id": event.subject, "detail": event.detail}


async def test_events_are_those_of_the_command(manager: TaskManager, cli: Cli) -> None:
    for task_id in ("a", "b"):
        await manager.run_task("x", task_id=task_id, delay=3600)
    await manager.cancel_task("a", "no more")
    async with aclosing(manager.events(since=3600)) as events:
        seen = await some(events, 5)
    lines = cli("events", "--since", "1h", "--json").lines
    assert [printed(event) for event in seen] == [
        {key: value for key, value in line.items() if key != "at"} for line in lines
    ]
    assert names(seen)[-1] == ("canceled", "a")

    async with aclosing(manager.events("a")) as events:  # from its acceptance on, then as they come
        assert names(await some(events, 3)) == [("accepted", "a"), ("delayed", "a"), ("canceled", "a")]
    async with aclosing(manager.events(since=seen[3].position, kinds=["canceled", "accepted"])) as events:
        assert names(await some(events, 1)) == [("canceled", "a")]
        await manager.run_task("x", task_id="c")
        assert names(await some(events, 1)) == [("accepted", "c")]


async def test_without_a_beginning_only_new_ones_come(manager: TaskManager) -> None:
    await manager.run_task("x", task_id="before")
    async with aclosing(manager.events()) as events, anyio.create_task_group() as group:
        got = list[Any]()

        async def read() -> None:
            got.extend(await some(events, 1))

        async def submit() -> None:
            number = 0
            while not got:  # until the reader has begun
                number += 1
                await manager.run_task("x", task_id=f"after-{number}")

        group.start_soon(read)
        group.start_soon(submit)
    assert got[0].subject.startswith("after-")


async def test_events_that_were_deleted_are_reported(manager: TaskManager, settings: RedisSettings) -> None:
    import redis

    for number in range(9):
        await manager.run_task("x", task_id=f"t{number}")
    async with aclosing(manager.events(since=3600)) as events:
        [first] = await some(events, 1)
    with redis.Redis.from_url(settings.url) as client:
        client.xtrim(f"{{{settings.queue}}}:events", maxlen=5, approximate=False)
    async with aclosing(manager.events(since=first.position)) as events:
        missed, following = await some(events, 2)
    assert missed == MissedEvents(first.position, following.position)
    assert following.subject == "t4"


async def test_events_go_on_when_the_store_was_away(short_path: Path) -> None:
    folder = short_path / "server"
    folder.mkdir()
    with serve(folder, "--dir", str(folder), "--appendonly", "yes", "--appendfsync", "always") as server:
        async with open_store(RedisSettings(url=server.url, queue="q")) as store:
            manager = TaskManager(store, queue="q")
            await manager.run_task("x", task_id="before")
            async with aclosing(manager.events(since=3600)) as events:
                assert names(await some(events, 1)) == [("accepted", "before")]
                came = anyio.Event()
                async with anyio.create_task_group() as group:

                    async def read() -> None:
                        assert names(await some(events, 1)) == [("accepted", "after")]
                        came.set()

                    group.start_soon(read)
                    await anyio.wait_all_tasks_blocked()
                    os.kill(server.pid, signal.SIGKILL)
                    (folder / "server.sock").unlink()
                    with serve(folder, "--dir", str(folder), "--appendonly", "yes"):
                        await manager.run_task("x", task_id="after")
                        async with aclosing(manager.events("after")) as others:
                            assert names(await some(others, 1)) == [("accepted", "after")]
                        await came.wait()


async def test_why_is_that_of_the_command(manager: TaskManager, cli: Cli) -> None:
    for task_id in ("ended", "waiting"):
        await manager.run_task("x", task_id=task_id)
    await manager.cancel_task("ended", "no more")
    for task_id in ("ended", "waiting"):
        ours, theirs = await manager.why(task_id), cli("why", task_id, "--json").document
        for passing in ("now", "times") if task_id == "waiting" else ("now",):  # they have the time since then
            assert ours.pop(passing)
            assert theirs.pop(passing)
        assert json.loads(json.dumps(ours)) == theirs
    now = (await manager.why("waiting", settings=Settings(keep=60)))["now"]
    assert "no worker runs" in now
    with pytest.raises(UnknownTaskError, match=r"no task other in .*: a task that has ended is kept for 7d 0h"):
        await manager.why("other")
    with pytest.raises(InvalidTaskError, match="task_id ''"):
        await manager.why("")


async def test_workers_and_lanes_are_those_of_the_command(manager: TaskManager, cli: Cli) -> None:
    await manager.run_task("x", lane="q:mail", delay=None)
    await manager.pause_queue("q:mail", "the provider is down")
    document = cli("lanes", "list", "--json").document
    lanes = await manager.lanes()
    assert [(each.name, each.waiting, each.paused_because) for each in lanes.lanes] == [
        (each["lane"], each["waiting"], each["reason"]) for each in document["lanes"]
    ]
    assert await manager.workers() == cli("workers", "--json").document == []


async def test_workers_of_all_hosts() -> None:
    async with create_broker(type="memory") as broker, broker.working(lambda: None, workers=2):
        workers = await broker.manager.workers()
        assert sorted(worker.slot for worker in workers) == [0, 1]
        assert {worker.state for worker in workers} == {"live"}
        assert asdict(workers[0]).keys() >= {"incarnation", "host", "pid", "running"}


def test_events_of_the_manager_without_async(settings: RedisSettings) -> None:
    with SyncTaskManager(settings) as manager:
        manager.run_task("x", task_id="a")
        events = manager.events("a")
        assert names([next(events)]) == [("accepted", "a")]
        events.close()
        assert [lane.waiting for lane in manager.lanes().lanes] == [1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"since": "yesterday"}, "since 'yesterday': a position of an event, such as"),
        ({"since": -1}, "since -1"),
        ({"task_id": ""}, "task_id ''"),
        ({"kinds": ["danced"]}, "kind 'danced': a name of .* is expected, such as canceled or "),
        ({"kinds": "accepted"}, "kinds 'accepted': a list of kinds of events is expected"),
    ],
)
async def test_bad_arguments_are_named_at_once(manager: TaskManager, arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidTaskError, match=error):
        manager.events(**arguments)
