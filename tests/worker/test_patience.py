"""How often a producer asks a store that is away is a setting: here it accepts connections and hangs up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
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

    assert visited(7) == 7 * visited(1)


def test_waits_and_bounds_are_those_of_the_settings() -> None:
    given = {"SUBMIT_ATTEMPTS": "5", "SUBMIT_TIMEOUT": "30", "SUBMIT_WAIT": "0.2", "SUBMIT_WAIT_CAP": "1m"}
    told = load(environ={f"HOLDFAST_{name}": value for name, value in given.items()}).redis.submit
    assert (told.attempts, told.seconds, told.first_wait, told.longest_wait) == (5, 30.0, 0.2, 60.0)
