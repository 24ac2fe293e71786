"""`supervisor start`: the handler is imported once for all workers, or in each of them, and the log says why."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.commands import Cli
from tests.cli.conftest import running, until_replaced
from tests.faults.kin import wait_dead

HANDLER = """
import os

IMPORTED_BY = os.getpid()
NOTES = open("notes", "a", buffering=1)

async def handle(messages):
    print("ran", file=NOTES)
    return [IMPORTED_BY, os.getpid()]
"""

THREADS = """
import threading
threading.Thread(target=threading.Event().wait, name="watches", daemon=False).start()
def handle(messages): ...
"""
NATIVE_THREAD = """
import _thread, threading
_thread.start_new_thread(threading.Event().wait, ())
def handle(messages): ...
"""
LIBRARY = """
import ctypes, os
LIBC, THREAD = ctypes.CDLL(None), ctypes.c_ulong()
assert LIBC.pthread_create(ctypes.byref(THREAD), None, LIBC.pause, None) == 0
IMPORTED_BY = os.getpid()
async def handle(messages): return IMPORTED_BY
"""
ENDS_ITS_THREAD = """
def end():
    if THREAD.value:
        LIBC.pthread_cancel(THREAD)
        LIBC.pthread_join(THREAD, None)
        THREAD.value = 0
os.register_at_fork(before=end)
"""
NUMPY = """
import os
import numpy
NUMBERS = numpy.random.rand(400, 400)
BEFORE = float((NUMBERS @ NUMBERS).sum())
IMPORTED_BY = os.getpid()
async def handle(messages):
    assert abs(float((NUMBERS @ NUMBERS).sum()) - BEFORE) < 1
    return IMPORTED_BY
"""
LOOP = """
import asyncio
LOOP = asyncio.new_event_loop()
def handle(messages): ...
"""
CHILD = """
import subprocess
CHILD = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open("child", "w").write(str(CHILD.pid))
def handle(messages): ...
"""
CONNECTION = """
import socket
OURS, THEIRS = socket.socketpair()
def handle(messages): ...
"""
FILE = """
NOTES = open("agent.py")
def handle(messages): ...
"""
PYDANTIC = """
from pydantic import BaseModel
from holdfast import Handlers
handlers = Handlers()
class Order(BaseModel):
    lines: list[str]
@handlers.register("count")
async def count(number: int, order: Order | None = None): return number
"""
BROKEN = """
import threading
threading.Thread(target=threading.Event().wait).start()
raise LookupError("no model here")
"""


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (THREADS, r"started 1 thread \(watches\), which a forked worker would not have"),
        (NATIVE_THREAD, r"started 1 thread \(.+\), which a forked worker would not have"),
        (LIBRARY, r"started 1 thread \(of a native library\), which a forked worker would not have"),
        (
            LIBRARY + ENDS_ITS_THREAD + THREADS,
            r"started 2 threads \(.*watches.*\), which a forked worker would not have",
        ),
        (LOOP, "opened an event loop, which workers would share"),
        (CONNECTION, r"opened 2 connections \(socket:\[\d+\], socket:\[\d+\]\), which workers would share"),
        (FILE, r"opened 1 file \(.+/agent.py\), whose position workers would share"),
        (THREADS + LOOP, "started 1 thread .* and opened an event loop, which workers would share"),
    ],
)
def test_an_import_that_a_fork_does_not_survive_is_made_in_each_worker(
    short_path: Path, source: str, problem: str
) -> None:
    (short_path / "agent.py").write_text(source.replace("...", "return __import__('os').getpid()"))
    with running(short_path, "--workers", "2", "--log-format", "json") as (cli, _):
        status = cli("status", "--json").document
        assert re.fullmatch(f"its import {problem}", status["not_preloaded"])
        assert f"handler not preloaded: {status['not_preloaded']}" in cli("status").out
        assert [each["kind"] for each in status["processes"]] == ["store", "steward", "worker", "worker"]
        assert cli("submit", "a", "--wait").lines[0]["result"] in {each["pid"] for each in status["processes"]}


def test_a_reload_with_an_import_that_can_be_shared_ends_the_line_in_the_status(short_path: Path) -> None:
    (short_path / "agent.py").write_text(THREADS.replace("...", "return 1"))
    with running(short_path, "--workers", "1", "--log-format", "json") as (cli, _):
        assert cli("status", "--json").document["not_preloaded"]
        (short_path / "agent.py").write_text("async def handle(messages): return 2\n")
        assert cli("reload", "--wait").status == 0
        assert cli("status", "--json").document["not_preloaded"] == ""
        assert "not preloaded" not in cli("status").out


@pytest.mark.parametrize("source", [LIBRARY + ENDS_ITS_THREAD, pytest.param(NUMPY, id="numpy")])
def test_a_library_that_ends_its_threads_at_a_fork_is_shared(short_path: Path, source: str) -> None:
    if "numpy" in source:
        pytest.importorskip("numpy")
    (short_path / "agent.py").write_text(source)
    with running(short_path, "--workers", "2", "--log-format", "json") as (cli, _):
        assert cli("status", "--json").document["not_preloaded"] == ""
        loader = next(one["pid"] for one in _processes(cli) if one["kind"] == "loader")
        assert {line["result"] for line in cli("submit", "a", "b", "c", "d", "--wait").lines} == {loader}
        checked = cli("check", "agent:handle")
        assert checked.status == 0
        assert "thread" not in checked.out + checked.err


def test_a_process_that_the_trial_import_started_is_ended(short_path: Path) -> None:
    (short_path / "agent.py").write_text(CHILD)
    with running(short_path, "--workers", "1") as (cli, _):
        why = cli("status", "--json").document["not_preloaded"]
        assert "its import started 1 process (" in why
        first = int(re.findall(r"\d+", why)[-1])
        wait_dead(first)
        assert not _has_ended(int((short_path / "child").read_text()))  # of the worker


def test_an_import_that_fails_is_shown_at_once_and_once(alone: Cli) -> None:
    (alone.folder / "agent.py").write_text(BROKEN)
    answer = alone("start", "--state-dir", str(alone.folder / "state"))
    assert answer.status == 78
    assert answer.err.count("Traceback") == 1


@pytest.mark.parametrize("flags", [(), ("--preload",)])
def test_workers_share_the_one_import_and_its_files(short_path: Path, flags: tuple[str, ...]) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    with running(short_path, "--workers", "2", *flags) as (cli, process):
        results = [line["result"] for line in cli("submit", "a", "b", "c", "d", "--wait").lines]
        workers = {one["pid"] for one in _processes(cli) if one["kind"] == "worker"}
        loader = next(one["pid"] for one in _processes(cli) if one["kind"] == "loader")
        assert {importer for importer, _ in results} == {loader}
        assert {runner for _, runner in results} <= workers
        assert (short_path / "notes").read_text() == "ran\n" * 4
        for pid in (loader, process.pid):
            assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
        steward = next(one["pid"] for one in _processes(cli) if one["kind"] == "steward")
        for pid in (steward, process.pid):
            assert str(short_path / "notes") not in _open_files(pid)


def test_workers_that_share_an_import_use_less_memory_of_their_own(short_path: Path) -> None:
    (short_path / "agent.py").write_text(PYDANTIC)
    private = {}
    for flag in ("--no-preload", "--preload"):
        with running(short_path, "agent:handlers", "--workers", "2", flag) as (cli, _):
            for _ in range(4):
                assert cli("submit", "--name", "count", "--data", '{"number": 1}', "--wait").lines[0]["result"] == 1
            workers = [one["pid"] for one in _processes(cli) if one["kind"] == "worker"]
            private[flag] = sum(map(_private_bytes, workers))
    assert private["--preload"] < 0.9 * private["--no-preload"]


def test_without_preload_each_worker_imports(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    with running(short_path, "--workers", "2", "--no-preload") as (cli, _):
        results = [line["result"] for line in cli("submit", "a", "b", "c", "d", "--wait").lines]
        assert all(importer == runner for importer, runner in results)
        assert "loader" not in {one["kind"] for one in _processes(cli)}
        assert cli("status", "--json").document["not_preloaded"] == ""


def test_a_reload_brings_new_code_to_workers_that_share_an_import(short_path: Path) -> None:
    (short_path / "agent.py").write_text("def handle(messages): return 'old'")
    with running(short_path, "--workers", "2") as (cli, _):
        assert cli("submit", "a", "--wait").lines[0]["result"] == "old"
        (short_path / "agent.py").write_text("def handle(messages): return 'brand new'")
        assert cli("reload", "--wait").status == 0
        until_replaced(cli)
        assert cli("submit", "a", "--wait").lines[0]["result"] == "brand new"
        (short_path / "agent.py").write_text("1 / 0")
        assert cli("reload", "--wait").status != 0
        assert cli("submit", "a", "--wait").lines[0]["result"] == "brand new"


def _processes(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("status", "--json").document["processes"]
    return found


def _open_files(pid: int) -> set[str]:
    found: set[str] = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed since it was listed
            found.add(str(link.readlink()))
    return found


def _private_bytes(pid: int) -> int:
    return int(psutil.Process(pid).memory_full_info().uss)


def _has_ended(pid: int) -> bool:
    """Gone, or dead and about to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
