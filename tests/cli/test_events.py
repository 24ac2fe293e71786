"""`supervisor events`: what was, what comes, and a store that goes away in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from tests.cli.commands import Cli, Inside, clean
from tests.forked import SUPERVISOR
from tests.servers import serve


def ids(answer: list[Any]) -> list[str]:
    return [event["id"] for event in answer]


def test_the_last_events_are_shown_in_order_and_chosen_by_task_and_kind(inside: Inside) -> None:
    inside("submit", "--lines", "-", stdin=b"x\n" * 30)
    inside("submit", "x", "--task-id", "t", "--delay", "1h")
    inside("tasks", "cancel", "t", "--reason", "\x1b[31mred")
    assert len(inside("events", "--json").lines) == 20
    last = inside("events", "--limit", "2", "--json").lines
    assert [(event["event"], event["id"]) for event in last] == [("delayed", "t"), ("canceled", "t")]
    assert len(inside("events", "--since", "1h", "--json").lines) == 33
    assert len(inside("events", "--since", "1h", "--limit", "4", "--json").lines) == 4
    kinds = ("--kind", "accepted", "--kind", "canceled")
    assert [event["event"] for event in inside("events", "--task", "t", *kinds, "--json").lines] == [
        "accepted",
        "canceled",
    ]
    assert "\x1b[31m" not in inside.on_terminal("events", "--task", "t").out
    assert "\\x1b[31mred" in inside("events", "--task", "t").out
    assert inside("events", "--kind", "danced").status == 2


def test_a_beginning_that_was_trimmed_is_told(inside: Inside) -> None:
    for _ in range(9):  # one event for each: tasks that are submitted together share theirs
        inside("submit", "x")
    _, url, _, queue = inside.options
    with redis.Redis.from_url(url) as client:
        client.xtrim(f"{{{queue}}}:events", maxlen=5, approximate=False)
    answer = inside("events", "--since", "1h", "--json")
    assert [line["event"] for line in answer.lines] == ["missed"] + ["accepted"] * 5
    assert "were deleted before they could be read" in answer.err


@contextmanager
def following(cli: Cli, *options: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [SUPERVISOR, "events", "--follow", "--json", *options, *cli.options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean({}),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def next_event(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


def test_events_are_followed_as_they_come(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "before")
    with following(cli, "--kind", "accepted") as process:
        assert next_event(process)["id"] == "before"
        for task_id in ("a", "b"):
            cli("submit", "x", "--task-id", task_id)
            assert next_event(process)["id"] == task_id
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_following_goes_on_when_the_store_was_away(short_path: Path) -> None:
    folder = short_path / "server"
    folder.mkdir()
    with serve(folder) as server:
        cli = Cli(short_path, ("--redis-url", server.url, "--queue-name", "q"))
        cli("submit", "x", "--task-id", "before")
        with following(cli) as process:
            assert next_event(process)["id"] == "before"
            os.kill(server.pid, signal.SIGKILL)
            assert process.stderr is not None
            assert "waiting until the store is back" in process.stderr.readline()
            (folder / "server.sock").unlink()
            with serve(folder):
                assert "the store is back" in process.stderr.readline()
                cli("submit", "x", "--task-id", "after")
                assert next_event(process)["id"] == "after"
