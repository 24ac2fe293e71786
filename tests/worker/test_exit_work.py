"""A worker that ends writes the buffers and runs the exit functions that completed tasks left, in bounded time."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.exits import ChildExit
from holdfast.ipc.channel import Drained, Ready
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.cli.conftest import running, until_replaced
from tests.worker import unclosed_files
from tests.worker.processes import WorkerProcess, booting
from tests.worker.test_worker import settled, submit

pytestmark = pytest.mark.anyio

WORDS = [f"word-{number}" for number in range(20)]


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
def begin(redis_settings: RedisSettings, short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("NOTES_FOLDER", str(short_path))

    @contextmanager
    def begun(handler: str, module: str = "ending_apps", **flags: object) -> Iterator[WorkerProcess]:
        target, url, queue = f"tests.worker.{module}:{handler}", redis_settings.url, redis_settings.queue
        with booting(target, folder=short_path, url=url, queue=queue, **flags) as process:
            process.expect(Ready)
            yield process

    return begun


async def done(store: RedisStore) -> None:
    await submit(store, *WORDS)
    for word in WORDS:
        await settled(store, word)


def assert_all_is_written(folder: Path, pid: int) -> None:
    lines = (folder / "notes").read_text("utf-8").splitlines()
    assert sorted(lines[:20]) == sorted(WORDS)
    assert lines[20:] == ["the end"] * 20
    assert sorted((folder / "at-import").read_text("utf-8").splitlines()[1:]) == sorted(WORDS)
    assert (folder / f"exit-{pid}").exists()
    assert not list(folder.glob("shared-*"))
    with gzip.open(folder / "notes.gz", "rt", encoding="utf-8") as file:
        assert sorted(file.read().splitlines()) == sorted(WORDS)


async def test_files_that_are_open_are_flushed_and_exit_functions_run(
    store: RedisStore, begin: Any, short_path: Path
) -> None:
    with begin("note_last") as process:
        await done(store)
        process.drain()
        assert process.wait() == ChildExit.OK
    assert_all_is_written(short_path, process.pid)


async def test_files_of_all_kinds_are_as_whole_as_python_leaves_them(
    store: RedisStore, begin: Any, short_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_and_end(tmp_path)
    with begin("write", module="unclosed_files") as process:
        await done(store)
        process.drain()
        assert process.wait() == ChildExit.OK
    found: list[dict[str, int | str]] = []
    for folder in (tmp_path, short_path):
        monkeypatch.setattr(unclosed_files, "FOLDER", folder)
        found.append(unclosed_files.found())
    assert found[1] == found[0]
    assert {each for each in found[0].values() if isinstance(each, int)} == {20, 21, 40, 0}


def write_and_end(folder: Path) -> None:
    """The same in a program that ends as Python ends."""
    script = [sys.executable, "-m", "tests.worker.unclosed_files", *WORDS]
    subprocess.run(script, env={**os.environ, "NOTES_FOLDER": str(folder)}, check=True)


@pytest.mark.parametrize("handler", ["never_end", "fail_late"])
async def test_an_exit_function_or_file_that_takes_too_long_is_left_behind(
    store: RedisStore, begin: Any, short_path: Path, handler: str
) -> None:
    with begin(handler) as process:
        await done(store)
        process.drain(seconds=2.0)
        process.expect(Drained)
        drained = time.monotonic()
        assert process.wait() == ChildExit.OK
        assert time.monotonic() - drained < 20
    assert noted(short_path) == 20


def noted(folder: Path) -> int:
    return len((folder / "notes").read_text("utf-8").splitlines())


async def test_it_is_done_where_a_worker_is_out_of_time(store: RedisStore, begin: Any, short_path: Path) -> None:
    with begin("note") as process:
        await done(store)
        process.drain(seconds=0.0, cancel_after=0.0)
        assert process.wait() == ChildExit.OK
    assert noted(short_path) == 20
    assert (short_path / f"exit-{process.pid}").exists()


HANDLER = """
import atexit, os, tempfile
NOTES = open("notes", "a")
NOTES.write("imported\\n")
SHARED = tempfile.TemporaryDirectory()
atexit.register(lambda: open(f"exit-{os.getpid()}", "w").close())

async def handle(messages):
    assert os.path.isdir(SHARED.name)
    NOTES.write("ran\\n")
    return os.getpid()
"""


def test_it_is_done_at_recycling_scaling_reload_and_stop_and_what_workers_share_stays(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    ran: set[int] = set()

    def work(cli: Any, *names: str) -> None:
        ran.update(line["result"] for line in cli("submit", *names, "--wait").lines)

    with running(short_path, "--workers", "2", "--max-tasks", "3") as (cli, process):
        work(cli, *(f"a{number}" for number in range(12)))
        assert cli("scale", "1").status == 0
        work(cli, "b1", "b2")
        assert cli("reload").status == 0
        until_replaced(cli)
        work(cli, "c1", "c2")
        process.terminate()
        assert process.wait(60) == 0
    lines = (short_path / "notes").read_text("utf-8").splitlines()
    assert lines.count("ran") == 16
    assert lines.count("imported") == 2  # by a loader, each time
    assert {int(path.name.removeprefix("exit-")) for path in short_path.glob("exit-*")} >= ran
