"""`supervisor why` and `workers --deaths`: a real supervisor whose workers die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.cli.commands import Cli
from tests.cli.conftest import running

HANDLER = '''
import asyncio, os

async def handle(messages):
    """Tells its process, and goes on until it is cancelled."""
    with open("running", "w") as told:
        told.write(str(os.getpid()))
    await asyncio.sleep(3600)
'''


def test_a_death_is_told_from_both_sides(short_path: Path) -> None:
    (short_path / "slow.py").write_text(HANDLER)
    os.mkfifo(short_path / "running")
    with running(short_path, "slow:handle", "--workers", "2", "--drain-timeout", "1") as (cli, _):
        cli("submit", "x", "--task-id", "t")
        first = int((short_path / "running").read_text())
        os.kill(first, signal.SIGKILL)
        second = int((short_path / "running").read_text())
        _told_of_the_task(cli, first, second)
        _told_of_the_worker(cli, first)
        cli("tasks", "cancel", "t", "--reason", "\x1b[31menough")
        shown = cli.on_terminal("why", "t").out
        assert "\x1b[31m" not in shown
        assert "now: canceled" in shown


def _told_of_the_task(cli: Cli, first: int, second: int) -> None:
    story = cli("why", "t", "--json").document
    assert [step["event"] for step in story["timeline"]] == ["accepted", "claimed", "crashed", "claimed"]
    assert [step["worker"]["pid"] for step in story["timeline"][1:]] == [first, first, second]
    moments = [step["at_ms"] for step in story["timeline"]]
    assert moments == sorted(moments)
    assert (story["state"], story["complete"]) == ("working", True)
    assert f"pid {second}" in story["now"]
    lines = cli("why", "t").out.splitlines()
    assert "its worker died: signal: SIGKILL; put back at the head of its lane" in lines[3]
    assert "later (crash 1)" in lines[3]
    assert "run 2, attempt 1 of 3" in lines[-2]


def _told_of_the_worker(cli: Cli, pid: int) -> None:
    deaths = cli("workers", "--deaths", "--json").document
    assert deaths["total"] == 1
    (death,) = deaths["recent"]
    assert (death["pid"], death["status"], death["held"]) == (pid, -signal.SIGKILL, ["t"])
    assert death["lived"] > 0
    assert death["peak_bytes"] > 1_000_000
    for command in (("workers", "--deaths"), ("status",)):
        (line,) = (line for line in cli(*command).out.splitlines() if str(pid) in line)
        assert "SIGKILL" in line
    assert cli("workers", "--deaths").out.splitlines()[-1].split()[-1] == "t"


def test_a_task_nobody_knows_is_told_how_long_one_is_kept(cli: Cli) -> None:
    answer = cli("why", "nobody")
    assert (answer.status, answer.out) == (1, "")
    assert "a task that has ended is kept for 7d 0h" in answer.err


def test_a_waiting_task_is_told_its_place(cli: Cli) -> None:
    cli("submit", "a", "b")
    cli("submit", "x", "--task-id", "t")
    assert cli("why", "t", "--json").document["place"] == {"before": 2, "exact": True}
    last = cli("why", "t").out.splitlines()[-2]
    assert last.endswith("2 entries before it; no worker runs: supervisor start")
    cli("lanes", "pause", cli("why", "t", "--json").document["service"]["lane"], "--reason", "repairs")
    order = cli("why", "t", "--json").document["now"].split("; ")[1:]
    assert [each.partition(": ")[2].split()[:2] for each in order] == [["supervisor", "lanes"], ["supervisor", "start"]]
    cli("submit", "x", "--task-id", "later", "--delay", "1h")
    assert cli("why", "later").out.splitlines()[-2].startswith("now: due in 59m")


def test_deaths_need_a_supervisor(alone: Cli) -> None:
    answer = alone("workers", "--deaths")
    assert answer.status == 1
    assert "start one" in answer.err
