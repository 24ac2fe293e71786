"""README and docs/start.md, walked through as they are written: their programs and commands, a real supervisor."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskStatus
from tests.cli.commands import clean
from tests.cli.conftest import running

README = Path(__file__).parents[2] / "README.md"
PAGE = README.parent / "docs/start.md"
WALKED = ("check", "submit", "status", "why", "workers", "events", "tasks", "reload")


def typed() -> list[list[str]]:
    """The page's commands that need a running supervisor, in its order."""
    lines = re.findall(r"^\$ supervisor (.*)$", PAGE.read_text(), re.MULTILINE)
    return [words for line in lines if (words := shlex.split(line))[0] in WALKED]


def program(page: Path) -> str:
    """The first program of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[0]


def printed(folder: Path, command: str) -> str:
    """What a line for the shell prints in the folder of a supervisor, whose commands are found first."""
    folders = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = clean({"HOLDFAST_RUNTIME_DIR": str(folder / "run")}) | {"PATH": folders}
    return subprocess.check_output(["bash", "-c", command], cwd=folder, env=environ, text=True, timeout=60)


def test_the_first_hour_goes_as_it_is_told(short_path: Path) -> None:
    (short_path / "agent.py").write_text(program(PAGE))
    with running(short_path, "agent:handlers", "--workers", "2") as (cli, process):
        assert printed(short_path, "python agent.py") == "GOOD MORNING\n"
        variables: dict[str, str] = {}
        for words in typed():
            if words[0] == "why":
                kill_whoever_runs(short_path / "run", words[1])
            done = cli(*words)
            assert done.status == 0, f"{words}: {done.err}"
            variables[" ".join(words[:2]) if words[0] == "submit" else words[0]] = done.out
        assert variables["why"].count("claimed") == 2
        assert "SIGKILL" in variables["why"]
        assert variables["reload"].startswith("reloaded")
        assert "GOOD EVENING" in variables["submit --wait"]
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


def test_the_first_task_of_the_readme_says_what_is_said_there(short_path: Path) -> None:
    (short_path / "agent.py").write_text(program(README))
    [submit] = re.findall(r"^supervisor submit --wait --name .*$", README.read_text(), re.MULTILINE)
    with running(short_path, "agent:handlers", "--workers", "2"):
        assert printed(short_path, "python agent.py") == "Good morning, Ada!\n"
        assert "Hello, Bo!" in printed(short_path, submit)


def test_the_line_that_kills_workers_kills_those_of_its_own_pool_alone(short_path: Path) -> None:
    [line] = {found for page in (README, PAGE) for found in re.findall(r"kill -9 \$\(.*?\}'\)", page.read_text())}
    (short_path / "agent.py").write_text(program(README))
    with namesake() as other, running(short_path, "agent:handlers", "--workers", "2"):
        workers = pids(short_path)
        printed(short_path, line)
        while pids(short_path) & workers or len(pids(short_path)) < 2:
            pass
        assert other.poll() is None


@contextmanager
def namesake() -> Iterator[subprocess.Popen[bytes]]:
    """A process with the title of a worker, as one of another pool has it."""
    with subprocess.Popen(["holdfast: worker 0", "infinity"], executable="/bin/sleep") as process:
        try:
            yield process
        finally:
            process.kill()


def pids(folder: Path) -> set[int]:
    processes = ask(folder / "run", AskStatus()).processes
    return {process.pid for process in processes if process.kind == "worker" and process.pid}
