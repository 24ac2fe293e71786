"""Nobody reads the pipe that `supervisor start` logs to: everything goes on, and the log says later what it lacks."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from holdfast_config.logging import DROPPED
from tests.cli.commands import Cli, clean
from tests.forked import COMMAND, Program, popen

AGENT = """
async def handle(messages):
    print("x" * 3000)
    return "ok"
"""
PATIENCE = 60.0


class Log:
    """The pipe of a service: filled by the test, and read only when the test says so."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._filling = os.open(f"/proc/self/fd/{self.writing}", os.O_WRONLY | os.O_NONBLOCK)

    def fill(self) -> None:
        for size in (1 << 16, 1):
            with suppress(BlockingIOError):
                while True:
                    os.write(self._filling, b"\n" * size)

    def until(self, text: str) -> str:
        """Read until a line says this; that line."""
        given_up, seen = time.monotonic() + PATIENCE, b""
        while time.monotonic() < given_up:
            with suppress(BlockingIOError):
                seen += os.read(self._reading, 1 << 20)
            for line in seen.splitlines(keepends=True):
                if text.encode() in line and line.endswith(b"\n"):
                    return line.decode()
            time.sleep(0.01)
        raise AssertionError(f"never said: {text}\n{seen.decode()}")

    def close(self) -> None:
        for descriptor in (self._reading, self._filling):
            os.close(descriptor)


@contextmanager
def unread(folder: Path) -> Iterator[tuple[Cli, Program, Log]]:
    """`supervisor start` with two workers, all ready, whose log is full."""
    (folder / "agent.py").write_text(AGENT)
    places = ("--runtime-dir", str(folder / "run"))
    log = Log()
    words = ["start", "agent:handle", "--workers", "2", *places, "--state-dir", str(folder / "state")]
    process = popen(COMMAND, words, cwd=folder, env=clean({}), stdin=subprocess.DEVNULL, stderr=log.writing)
    os.close(log.writing)
    try:
        log.until("workers ready")
        log.fill()
        yield Cli(folder, places), process, log
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGQUIT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        log.close()


def test_work_commands_and_restarts_go_on_and_the_log_says_what_it_lacks(short_path: Path) -> None:
    with unread(short_path) as (cli, process, log):
        answer = cli("submit", *(str(number) for number in range(20)), "--wait")
        assert [line["state"] for line in answer.lines] == ["completed"] * 20
        status = cli("status", "--json").document
        worker = next(each for each in status["processes"] if each["kind"] == "worker")
        process.send_signal(signal.SIGUSR1)  # the stacks of all processes are no reason to wait either
        os.kill(worker["pid"], signal.SIGKILL)
        assert worker["pid"] not in _ready(cli)
        log.until(DROPPED)
        log.fill()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("signals", [(signal.SIGQUIT,), (signal.SIGTERM, signal.SIGTERM, signal.SIGTERM)])
def test_every_way_to_stop_ends_it(short_path: Path, signals: tuple[signal.Signals, ...]) -> None:
    with unread(short_path) as (_, process, _):
        for number in signals:
            process.send_signal(number)
        assert process.wait(PATIENCE) in (0, -signal.SIGQUIT, 75)


def _ready(cli: Cli) -> list[int]:
    """The workers once there are two that are ready."""
    given_up = time.monotonic() + PATIENCE
    while time.monotonic() < given_up:
        status = cli("status", "--json").document
        if status["ready"] == 2 and status["target"] == 2:
            return [each["pid"] for each in status["processes"] if each["kind"] == "worker"]
    raise AssertionError("the workers do not come back")
