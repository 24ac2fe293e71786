"""Fixtures of the command line's tests: commands against a real store, and against a real pool."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.commands import Cli, Inside, clean
from tests.forked import COMMAND, SUPERVISOR, Program, popen

if TYPE_CHECKING:
    from holdfast_config import RedisSettings


@pytest.fixture
def alone(short_path: Path) -> Cli:
    """Commands where no supervisor runs and no store is named."""
    return Cli(short_path, ("--runtime-dir", str(short_path / "run")))


@pytest.fixture
def cli(redis_settings: RedisSettings, short_path: Path) -> Cli:
    """Commands with the session's server and a queue of their own; nobody works on it."""
    return Cli(short_path, ("--redis-url", redis_settings.url, "--queue-name", redis_settings.queue))


@pytest.fixture
def inside(cli: Cli, capsys: pytest.CaptureFixture[str]) -> Inside:
    """The commands of `cli` in this process, which spares their start."""
    return Inside(cli.folder, cli.options, capsys=capsys)


@contextmanager
def running(
    folder: Path, *options: str, before: tuple[str, ...] = (), environ: Mapping[str, str] | None = None
) -> Iterator[tuple[Cli, Program]]:
    """`supervisor start` on the embedded store, all workers ready; commands that find it. `before`: what runs it."""
    places = ("--runtime-dir", str(folder / "run"))
    words = ["start", *places, "--state-dir", str(folder / "state"), *options]
    process = _started(words, before, cwd=folder, env=clean(environ or {}), stdin=DEVNULL, stderr=PIPE, text=True)
    assert process.stderr is not None
    seen: list[str] = []
    for line in process.stderr:
        seen.append(line)
        if "workers ready" in line or "worker ready" in line:
            break
    rest = Thread(target=lambda stream: seen.extend(stream), args=(process.stderr,))
    rest.start()
    try:
        assert process.poll() is None, "".join(seen)
        yield Cli(folder, places), process
    finally:
        process.terminate()
        process.wait(60)
        rest.join()
        process.stderr.close()


def until_replaced(cli: Cli) -> None:
    """Until no worker of earlier code lives. One that was asked to leave, and is slow to hear it, may claim a task."""
    given_up = time.monotonic() + 60
    while time.monotonic() < given_up:
        status = cli("status", "--json").document
        workers = [process for process in status["processes"] if process["kind"] == "worker"]
        if all(worker["generation"] == status["generation"] for worker in workers):
            return
    raise AssertionError("workers of earlier code do not leave")


def _started(words: Sequence[str], before: Sequence[str], **given: Any) -> Program:
    return subprocess.Popen([*before, SUPERVISOR, *words], **given) if before else popen(COMMAND, words, **given)


@contextmanager
def two_workers() -> Iterator[Cli]:
    """Two workers that count words, on the embedded store."""
    with (
        TemporaryDirectory(prefix="holdfast-") as folder,
        running(Path(folder), "examples.wordcount:handle", "--workers", "2") as (cli, _),
    ):
        yield cli


@pytest.fixture(scope="package")
def pool() -> Iterator[Cli]:
    """For tests that leave it as it was."""
    with two_workers() as cli:
        yield cli
