"""docs/start.md, walked through as it is written: its own handler, its own commands, a real supervisor."""

from __future__ import annotations

import os
import re
import shlex
import signal
from pathlib import Path

from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskStatus
from tests.cli.conftest import running

PAGE = Path(__file__).parents[2] / "docs/start.md"
WALKED = ("check", "submit", "status", "why", "workers", "events", "tasks", "reload")


def typed() -> list[list[str]]:
    """The page's commands that need a running supervisor, in its order."""
    lines = re.findall(r"^\$ supervisor (.*)$", PAGE.read_text(), re.MULTILINE)
    return [words for line in lines if (words := shlex.split(line))[0] in WALKED]


def handler() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(code)


def test_the_first_hour_goes_as_it_is_told(short_path: Path) -> None:
    (short_path / "agent.py").write_text(handler())
    with running(short_path, "--workers", "2") as (cli, process):
        variables: dict[str, str] = {}
        for words in typed():
            if words[0] == "why":
                kill_whoever_runs(short_path / "run", words[1])
            done = cli(*words)
            assert done.status == 0, f"{words}: {done.err}"
            variables[words[0]] = done.out
        assert variables["why"].count("claimed") == 2
        assert "SIGKILL" in variables["why"]
        assert variables["reload"].startswith("reloaded")
        assert "GOOD MORNING" in cli("submit", "--wait", "good morning").out
        assert cli("stop").status == 0
        assert process.wait(60) == 0


def kill_whoever_runs(runtime_dir: Path, task_id: str) -> None:
    """Returns when the task runs in another process."""
    while not (victim := runner(runtime_dir, task_id)):
        pass
    os.kill(victim, signal.SIGKILL)
    while runner(runtime_dir, task_id) in {None, victim}:
        pass


def runner(runtime_dir: Path, task_id: str) -> int | None:
    """The pid of the worker that runs the task, as the supervisor tells."""
    processes = ask(runtime_dir, AskStatus()).processes
    return next((process.pid for process in processes if task_id in process.running), None)
