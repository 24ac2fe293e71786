"""Forked programs are processes like those that a shell starts."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.commands import PIPES, Cli, clean
from tests.forked import COMMAND, Process, popen

WORDS = [
    ("version", "--json"),
    ("nonsense",),
    ("tasks", "count", "--redis-url", "redis://me:secret@localhost:1/0"),
    ("tasks", "show"),
    ("config", "show", "--json"),
    ("submit", "-", "--runtime-dir", "/nowhere", "--submit-timeout", "0.1"),
    ("check", "agent:handle"),
    ("start", "agent:handle", "--runtime-dir", "run", "--state-dir", "state", "--burst", "--workers", "0"),
    ("--help",),
]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_command_says_what_a_new_interpreter_says(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "agent.py").write_text(
        "import os, sys, time\nraise ValueError(sys.argv, sys.path[0], time.localtime(0))"
    )
    (tmp_path / "supervisor.toml").write_text("workers = 3\n")
    forked = Cli(tmp_path, environ={"TZ": "Asia/Tokyo", "HOLDFAST_LEASE": "70s", "HOME": str(tmp_path)})
    assert forked(*words, stdin=b"x\n") == replace(forked, forked=False)(*words, stdin=b"x\n")


@pytest.mark.parametrize("name", ["PYTHONUNBUFFERED", "PYTHONPATH", "LANG", "HOLDFAST_KILL_AT"])
def test_what_is_read_at_the_start_gets_an_interpreter_of_its_own(name: str) -> None:
    env = clean({name: "2"})
    new = popen(COMMAND, ["version"], kind="commands", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert isinstance(new, subprocess.Popen)
    new.wait(60)


def test_an_empty_variable_is_as_if_it_were_unset() -> None:
    forked = popen(COMMAND, ["version"], env=clean({"HOLDFAST_KILL_AT": ""}), stdout=subprocess.DEVNULL)
    assert isinstance(forked, Process)
    assert forked.wait(60) == 0


def test_a_command_that_a_signal_ends_has_its_negative_number(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n")
    assert Cli(tmp_path)("check", "agent:handle").status == -signal.SIGKILL


def test_a_command_is_killed_when_its_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "import os, threading\nopen('pid', 'w').write(str(os.getppid()))\nthreading.Event().wait()\n"
    )
    with pytest.raises(subprocess.TimeoutExpired):
        popen(COMMAND, ["check", "agent:handle"], cwd=tmp_path, env=clean({}), **PIPES).communicate(b"", 2)
    ended = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(ended, 0)


def test_a_command_has_no_descriptors_but_its_streams(tmp_path: Path) -> None:
    """Those of another command that runs would keep its pipes open."""
    (tmp_path / "agent.py").write_text("import os\nraise ValueError(sorted(os.listdir('/proc/self/fd')))\n")
    forked = Cli(tmp_path)
    assert forked("check", "agent:handle") == replace(forked, forked=False)("check", "agent:handle")


def test_commands_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for the other one's file."""
    (tmp_path / "agent.py").write_text(
        "import os, pathlib, time\n"
        "mine, other = os.environ['MINE'], os.environ['OTHER']\n"
        "pathlib.Path(mine).touch()\n"
        "while not pathlib.Path(other).exists(): time.sleep(0.01)\n"
        "raise ValueError(mine)\n"
    )
    with ThreadPoolExecutor(2) as pool:
        a, b = pool.map(
            lambda names: Cli(tmp_path, environ={"MINE": names[0], "OTHER": names[1]})("check", "agent:handle"),
            ("ab", "ba"),
        )
    assert "ValueError: a" in a.err
    assert "ValueError: b" in b.err
