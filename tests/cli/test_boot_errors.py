"""Workers that cannot boot for a reason that nobody has foreseen: before any was ready, and later."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Answer, Cli, clean
from tests.cli.conftest import running
from tests.forked import SUPERVISOR

AGENT = "async def handle(messages):\n    return 'done'\n"


def start(folder: Path, before: str = "") -> Answer:
    """`supervisor start` in `work`, after this line of shell."""
    (folder / "work").mkdir(exist_ok=True)
    places = f"--runtime-dir {folder / 'run'} --state-dir {folder / 'state'}"
    script = f"cd {folder / 'work'}; {before}\nexec {SUPERVISOR} start agent:handle --workers 2 {places}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, cwd=folder, env=clean({}), timeout=60)
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_working_folder_that_is_gone_at_the_start_ends_it_after_three_tries(short_path: Path) -> None:
    answer = start(short_path, "rmdir $PWD")
    assert answer.status == 78
    assert answer.err.count('"event": "the worker could not be started 3 times: the supervisor ends"') == 1
    assert "FileNotFoundError" in answer.err


@pytest.mark.parametrize(
    ("ending", "cause"),
    [("import os; os._exit(3)", "exit: status 3"), ("import ctypes; ctypes.string_at(0)", "signal: SIGSEGV")],
)
def test_a_handler_that_ends_the_process_that_imports_it_ends_the_service(
    ending: str, cause: str, short_path: Path
) -> None:
    (short_path / "work").mkdir()
    (short_path / "work" / "agent.py").write_text(f"{ending}\n{AGENT}")
    answer = start(short_path)
    assert answer.status == 78
    (given_up,) = [
        line for line in answer.err.splitlines() if "could not be started 3 times: the supervisor ends" in line
    ]
    assert cause in given_up


def test_a_deleted_working_folder_is_a_boot_failure_with_its_cause_and_heals_when_it_is_back(short_path: Path) -> None:
    work = short_path / "work"
    work.mkdir()
    (work / "agent.py").write_text(AGENT)
    before = ("env", "-C", str(work))
    with running(short_path, "--workers", "1", "--no-preload", before=before) as (cli, process):
        shutil.rmtree(work)
        [worker] = [each["pid"] for each in cli("status", "--json").document["processes"] if each["kind"] == "worker"]
        os.kill(worker, signal.SIGKILL)
        died = deaths_until(cli, 4)[1:]
        assert {(death["cause"], death["detail"].partition(":")[0]) for death in died} == {
            ("boot failure", "FileNotFoundError")
        }
        assert "boot failure" in cli("status").out
        assert "boot failure: FileNotFoundError" in cli("doctor").out
        work.mkdir()
        (work / "agent.py").write_text(AGENT)
        assert cli("submit", "--wait", "x").status == 0
        assert process.poll() is None


def test_workers_go_on_with_the_handler_of_their_loader_if_its_folder_is_deleted(short_path: Path) -> None:
    work = short_path / "work"
    work.mkdir()
    (work / "agent.py").write_text(AGENT)
    with running(short_path, "--workers", "1", before=("env", "-C", str(work))) as (cli, process):
        shutil.rmtree(work)
        [worker] = [each["pid"] for each in cli("status", "--json").document["processes"] if each["kind"] == "worker"]
        os.kill(worker, signal.SIGKILL)
        assert [death["cause"] for death in deaths_until(cli, 1)] == ["signal"]
        assert cli("submit", "--wait", "x").status == 0
        assert process.poll() is None


def deaths_until(cli: Cli, number: int) -> list[dict[str, Any]]:
    """The deaths that `status` knows, once there are so many."""
    given_up = time.monotonic() + 60
    while time.monotonic() < given_up:
        known = cli("status", "--json").document["deaths"]
        if known["total"] >= number:
            return list(known["recent"])
    raise AssertionError("nobody dies any more")
