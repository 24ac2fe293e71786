"""The HTTP API over a socket, beside the command line: both give the same values; clients that break off."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.store import open_store
from holdfast_config import RedisSettings
from tests.cli.commands import Cli
from tests.servers import valkey
from tests.web.test_process import LOGIN, TOKEN, alone

QUEUE = "bindu:tasks"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cli, httpx.Client]]:
    """The command line and the API of one queue that has something of each kind."""
    folder = tmp_path_factory.mktemp("q")
    with valkey(folder) as url, alone(folder, url, "0") as (_, address):
        asyncio.run(fill(url))
        with httpx.Client(base_url=f"{address}api/v1", headers=LOGIN, timeout=60) as client:
            yield Cli(folder, ("--redis-url", url)), client


async def fill(url: str) -> None:
    async with open_store(RedisSettings(url=url)) as store:
        manager = TaskManager(store, queue=QUEUE)
        await manager.run_tasks([TaskSpec(text="a"), TaskSpec(name="mail", kwargs={"to": "<b>"})], batch="b1")
        await manager.run_task("x", task_id="paused")
        await manager.pause_task("paused", "lunch")
        await manager.run_task("x", task_id="later", delay=3600, lane=f"{QUEUE}:mail")
        await manager.cancel_task((await manager.run_task("x", task_id="over")), "enough")
        await manager.pause_queue(f"{QUEUE}:mail", "the provider is down")
        await manager.schedules.upsert("nightly", cron="0 2 * * *", name="close")
        await store.quiet_host("db1", "operator", "moves")


@pytest.mark.parametrize(
    ("words", "path", "name"),
    [
        (("tasks", "list"), "/tasks", "tasks"),
        (("tasks", "list", "--state", "delayed"), "/tasks?state=delayed", "tasks"),
        (("tasks", "count"), "/queue/count", ""),
        (("batches", "list"), "/batches", ""),
        (("batches", "show", "b1"), "/batches/b1", ""),
        (("lanes", "list"), "/lanes", ""),
        (("lanes", "show", f"{QUEUE}:mail"), f"/lanes/{QUEUE}%3Amail", ""),
        (("schedules", "list"), "/schedules", ""),
        (("schedules", "show", "nightly"), "/schedules/nightly", ""),
        (("schedules", "history", "nightly"), "/schedules/nightly/history", "history"),
        (("schedules", "next", "nightly"), "/schedules/nightly/next", ""),
        (("queue", "length"), "/queue/length", ""),
        (("queue", "peek"), "/queue/peek", "entries"),
        (("queue", "unreadable", "list"), "/queue/unreadable", "entries"),
        (("workers",), "/workers", "workers"),
        (("dead", "list"), "/dead", "tasks"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_both_give_the_same_values(
    served: tuple[Cli, httpx.Client], words: tuple[str, ...], path: str, name: str
) -> None:
    cli, client = served
    printed = cli(*words, "--json")
    assert printed.status == 0, printed.err
    documents = [json.loads(line) for line in printed.out.splitlines()]
    answer = client.get(path).json()
    given = answer[name] if name else answer
    expected = documents if isinstance(given, list) and documents != [given] else documents[0] if documents else []
    assert _timeless(given) == _timeless(expected)


def test_a_task_in_full_is_that_of_the_command(served: tuple[Cli, httpx.Client]) -> None:
    cli, client = served
    printed = cli("tasks", "show", "over", "--json").document
    del printed["parents"]  # which `why` has here
    assert client.get("/tasks/over").json() == printed


def test_events_are_those_of_the_command(served: tuple[Cli, httpx.Client]) -> None:
    cli, client = served
    printed = [json.loads(line) for line in cli("events", "--task", "over", "--json").out.splitlines()]
    assert client.get("/events?task=over").json()["events"] == printed[::-1]


def test_a_request_that_breaks_off_and_one_that_never_ends_hold_up_nobody(served: tuple[Cli, httpx.Client]) -> None:
    _, client = served
    address = urlsplit(str(client.base_url))
    head = f"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    before = client.get("/queue/count").json()
    with closing(socket.create_connection((address.hostname, address.port))) as slow:
        slow.sendall(head.encode())
        with closing(socket.create_connection((address.hostname, address.port))) as broken:
            broken.sendall(head.encode())
        assert client.get("/queue/count").json() == before


def test_a_body_is_refused_before_it_is_read_whole(served: tuple[Cli, httpx.Client]) -> None:
    _, client = served

    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * (1 << 16)

    try:
        answer = client.post("/tasks", content=endless(), headers={"content-type": "application/json"})
    except httpx.TransportError:
        return  # the connection was closed while the client went on to send
    assert answer.status_code == 413


def test_curl_reads_a_list(served: tuple[Cli, httpx.Client]) -> None:
    _, client = served
    words = ["curl", "-sS", "-H", f"Authorization: Bearer {TOKEN}", f"{client.base_url}tasks?limit=1"]
    try:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("curl is not installed")
    assert len(json.loads(ran.stdout)["tasks"]) == 1


def _timeless(value: object) -> object:
    """Without what depends on the moment of the request."""
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in ("oldest_seconds", "beat_ago_ms")}
    return [_timeless(each) for each in value] if isinstance(value, list) else value
