"""`supervisor start --preload`: the handler is imported once, before the fork, or refused in one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Answer, Cli
from tests.cli.conftest import running

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
BROKEN = """
import threading
threading.Thread(target=threading.Event().wait).start()
raise LookupError("no model here")
"""


def refused(cli: Cli, source: str) -> Answer:
    (cli.folder / "agent.py").write_text(source)
    return cli("start", "--preload", "--state-dir", str(cli.folder / "state"))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (THREADS, r"started 1 thread \(watches\), which a forked worker would not have"),
        (NATIVE_THREAD, r"started 1 thread \(.+\), which a forked worker would not have"),
        (LOOP, "opened an event loop, which workers would share"),
        (CONNECTION, r"opened 2 connections \(socket:\[\d+\], socket:\[\d+\]\), which workers would share"),
        (THREADS + LOOP, "started 1 thread .* and opened an event loop, which workers would share"),
    ],
)
def test_an_import_that_a_fork_does_not_survive_is_refused_in_one_line(alone: Cli, source: str, problem: str) -> None:
    answer = refused(alone, source)
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    advice = "do that in the handler, or start without --preload"
    line = f"supervisor: agent:handle cannot be preloaded: its import {problem}: {advice}\n"
    assert re.fullmatch(line, answer.err)


def test_a_process_that_the_import_started_is_ended(alone: Cli) -> None:
    answer = refused(alone, CHILD)
    pid = int((alone.folder / "child").read_text())
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert f"its import started 1 process ({pid}): " in answer.err
    assert _has_ended(pid)


def test_an_import_that_fails_is_shown_at_once_and_once(alone: Cli) -> None:
    answer = refused(alone, BROKEN)
    assert answer.status == 78
    assert answer.err.count("LookupError: no model here") == 2  # the traceback's last line, and the cause
    assert answer.err.count("Traceback") == 1


def test_workers_share_the_one_import_and_its_files(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    with running(short_path, "--workers", "2", "--preload") as (cli, process):
        results = [line["result"] for line in cli("submit", "a", "b", "c", "d", "--wait").lines]
        workers = {row["pid"] for row in _processes(cli) if row["kind"] == "worker"}
        assert {importer for importer, _ in results} == {process.pid}
        assert {runner for _, runner in results} <= workers
        assert (short_path / "notes").read_text() == "ran\n" * 4
        assert len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 1
        steward = next(row["pid"] for row in _processes(cli) if row["kind"] == "steward")
        assert str(short_path / "notes") not in _open_files(steward)


def _processes(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("status", "--json").document["processes"]
    return found


def _open_files(pid: int) -> set[str]:
    return {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}


def _has_ended(pid: int) -> bool:
    """Gone, or dead and about to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
