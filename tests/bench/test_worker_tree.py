"""The processes of a measured system are all found and all ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from bench.records import VARIABLE
from bench.waiting import until
from bench.worker_tree import WorkerTree

CHILD = "import time; time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


def tree(folder: Path) -> WorkerTree:
    processes = WorkerTree([[sys.executable, "-c", PARENT]] * 2, dict(os.environ), folder, folder / "log")
    processes.start()
    until(lambda: len(processes.alive()) == 4, 20.0, "two processes have a child each")
    return processes


def test_children_are_found_also_when_their_parent_is_gone(tmp_path: Path) -> None:
    processes = tree(tmp_path)
    try:
        processes.signal_started(signal.SIGKILL)
        until(lambda: len(processes.alive()) == 2, 20.0, "the children are alone")
    finally:
        processes.end()


def test_none_is_left_at_the_end(tmp_path: Path) -> None:
    processes = tree(tmp_path)
    pids = [process.pid for process in processes.alive()]
    processes.end()
    assert processes.alive() == []
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)


def test_a_process_whose_parent_was_never_seen_is_ended_by_its_environment(tmp_path: Path) -> None:
    environ = {**os.environ, VARIABLE: str(tmp_path / "records")}
    stray = subprocess.Popen([sys.executable, "-c", CHILD], env=environ)
    WorkerTree([], environ, tmp_path, tmp_path / "log").end()
    stray.wait(20)  # it would sleep for a minute
    assert not psutil.pid_exists(stray.pid)


def test_memory_and_processor_time_are_those_of_all(tmp_path: Path) -> None:
    processes = tree(tmp_path)
    try:
        assert len(processes.pss()) == len(processes.cpu()) == 4
    finally:
        processes.end()
