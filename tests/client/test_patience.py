"""How often a producer asks a store that is away is a setting: here it accepts connections and hangs up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.errors import StoreUnavailableError
from holdfast.sync import TaskManager
from holdfast_config import load


@dataclass
class Rude:
    url: str
    visits: int = 0


@pytest.fixture
def rude(short_path: Path) -> Iterator[Rude]:
    """Counts who comes, and says nothing to anybody."""
    path = short_path / "rude.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    server = Rude(f"unix://{path}")

    def serve() -> None:
        while True:
            try:
                visitor, _ = listener.accept()
            except OSError:
                return
            server.visits += 1
            visitor.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10.0)


def environment(rude: Rude, attempts: int) -> dict[str, str]:
    return {
        "REDIS_URL": rude.url,
        "HOLDFAST_SUBMIT_ATTEMPTS": str(attempts),
        "HOLDFAST_SUBMIT_WAIT": "0",
        "HOLDFAST_SUBMIT_WAIT_CAP": "0",
    }


def visits(rude: Rude, attempts: int) -> int:
    rude.visits = 0
    settings = load(environ=environment(rude, attempts))
    with TaskManager(settings.redis) as manager, pytest.raises(StoreUnavailableError):
        manager.run_task("hello")
    return rude.visits


def test_a_producer_asks_as_often_as_its_settings_say(rude: Rude) -> None:
    once = visits(rude, 1)
    assert once
    assert visits(rude, 5) == 5 * once


def test_the_command_line_asks_as_often_as_its_settings_say(rude: Rude) -> None:
    def visited(attempts: int) -> int:
        rude.visits = 0
        command = [Path(sys.executable).with_name("supervisor"), "submit", "hello"]
        ended = subprocess.run(command, env={**os.environ, **environment(rude, attempts)}, capture_output=True)
        assert ended.returncode == 69, ended.stderr
        return rude.visits

    note = 1  # the entry in Activity is tried once, whatever the settings say
    assert visited(7) - note == 7 * (visited(1) - note)


def seconds_asked(rude: Rude, seconds: str) -> float:
    given = {"REDIS_URL": rude.url, "HOLDFAST_SUBMIT_TIMEOUT": seconds, "HOLDFAST_SUBMIT_WAIT_CAP": "0.01"}
    settings = load(environ=given)
    before = time.monotonic()
    with TaskManager(settings.redis) as manager, pytest.raises(StoreUnavailableError):
        manager.run_task("hello")
    return time.monotonic() - before


def test_a_producer_asks_until_its_time_is_over(rude: Rude) -> None:
    once = visits(rude, 1)
    for _ in range(5):  # a slow machine may have no time for ten in a second
        rude.visits = 0
        assert seconds_asked(rude, "1") >= 1.0
        if rude.visits > 9 * once:
            break
    assert rude.visits > 9 * once  # the number of attempts does not end it


def test_the_command_line_says_that_it_asks_again(rude: Rude) -> None:
    command = [Path(sys.executable).with_name("supervisor"), "submit", "hello"]
    given = {"REDIS_URL": rude.url, "HOLDFAST_SUBMIT_TIMEOUT": "1.5"}
    before = time.monotonic()
    ended = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (69, "")
    assert time.monotonic() - before >= 1.5
    assert "retrying for up to 1.5 s" in ended.stderr.splitlines()[0]


def test_waits_and_bounds_are_those_of_the_settings() -> None:
    given = {"SUBMIT_ATTEMPTS": "5", "SUBMIT_TIMEOUT": "30", "SUBMIT_WAIT": "0.2", "SUBMIT_WAIT_CAP": "1m"}
    told = load(environ={f"HOLDFAST_{name}": value for name, value in given.items()}).redis.submit
    assert (told.attempts, told.seconds, told.first_wait, told.longest_wait) == (5, 30.0, 0.2, 60.0)
