"""`supervisor init`, as a newcomer uses it: the files run as they stand, and nothing is written over."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfastd.cli import init_command
from tests.cli.commands import ROOT, Cli, clean
from tests.cli.conftest import running

FILES = ["agent.py", "supervisor.toml", "test_agent.py"]


@pytest.fixture
def anywhere(short_path: Path) -> Cli:
    return Cli(short_path)


def listed(folder: Path) -> list[str]:
    """The names of a folder's files, hidden ones included."""
    return sorted(path.name for path in folder.iterdir())


def test_its_files_are_checked_tested_and_run_as_they_stand(anywhere: Cli) -> None:
    done = anywhere("init", "greetings")
    assert (done.status, done.err) == (0, "")
    folder = anywhere.folder / "greetings"
    assert listed(folder) == FILES
    commands = [line.partition("#")[0].strip() for line in done.out.splitlines()[1:]]
    assert commands[:2] == ["cd greetings", "supervisor start"]
    submit, test = commands[2:]
    assert test == "pytest"
    there = Cli(folder)
    assert there("check").status == 0
    plain = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    tests = subprocess.run(plain, cwd=folder, env=clean({}), capture_output=True, text=True, check=False)
    assert "2 passed" in tests.stdout, tests.stdout + tests.stderr
    with running(folder) as (cli, _):
        sent = Cli(folder, cli.options)("submit", "--wait", "--name", "greet", "--data", '{"name": "Ada"}')
        assert submit.endswith("""submit --wait --name greet --data '{"name": "Ada"}'""")
        assert "Hello, Ada!" in sent.out
        environ = clean({"HOLDFAST_RUNTIME_DIR": str(folder / "run")})
        program = subprocess.run([sys.executable, "agent.py"], cwd=folder, env=environ, capture_output=True, text=True)
        assert program.stdout.splitlines()[-1:] == ["Good morning, Ada!"], program.stderr


@pytest.mark.long
@pytest.mark.slow
def test_its_files_are_typed_and_formatted(anywhere: Cli) -> None:
    anywhere("init")
    files = [str(anywhere.folder / name) for name in FILES if name.endswith(".py")]
    for check in (
        ("mypy", "--strict", "--no-error-summary", "--cache-dir", str(anywhere.folder / "cache")),
        ("ruff", "format", "--check", "-q", "--isolated"),
        ("ruff", "check", "-q", "--isolated", "--no-cache", "--select", "E,F,W,I,UP,B,RUF"),
    ):
        environ = clean({"MYPYPATH": os.pathsep.join(str(ROOT / part) for part in ("config", "workers", "typings"))})
        command = [sys.executable, "-m", *check, *files]
        done = subprocess.run(command, cwd=anywhere.folder, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_is_named_and_nothing_is_written(anywhere: Cli, name: str) -> None:
    (anywhere.folder / name).write_text("mine")
    done = anywhere("init")
    assert (done.status, done.out) == (1, "")
    assert f"{name} is there already in {anywhere.folder.resolve()}: nothing was written" in done.err
    assert listed(anywhere.folder) == [name]
    assert (anywhere.folder / name).read_text() == "mine"


def test_a_broken_link_is_there_too(anywhere: Cli) -> None:
    (anywhere.folder / "agent.py").symlink_to("nowhere.py")
    assert anywhere("init").status == 1
    assert listed(anywhere.folder) == ["agent.py"]


def test_run_twice_it_names_all_files(anywhere: Cli) -> None:
    assert anywhere("init").status == 0
    done = anywhere("init")
    assert done.status == 1
    assert "agent.py and supervisor.toml and test_agent.py are there already" in done.err


def test_something_that_is_no_folder_is_refused(anywhere: Cli) -> None:
    (anywhere.folder / "file").write_text("")
    for name in ("file", "file/inside"):
        done = anywhere("init", name)
        assert done.status == 1
        assert "is not a folder" in done.err
    assert listed(anywhere.folder) == ["file"]


@pytest.mark.parametrize("name", ["/proc/nothing", "x" * 300])
def test_a_folder_that_cannot_be_made_is_named(anywhere: Cli, name: str) -> None:
    done = anywhere("init", name)
    assert done.status == 1
    assert "cannot be made" in done.err
    assert listed(anywhere.folder) == []


def test_as_json_it_says_the_same(anywhere: Cli) -> None:
    done = anywhere("init", "deep/er", "--json")
    assert json.loads(done.out)["written"] == FILES
    assert listed(anywhere.folder / "deep/er") == FILES


def test_a_file_that_comes_meanwhile_is_kept_and_the_others_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b").write_text("theirs")
    with pytest.raises(FileExistsError):
        init_command.write_new(tmp_path, {"a": "1", "b": "2", "c": "3"})
    assert listed(tmp_path) == ["b"]
    assert (tmp_path / "b").read_text() == "theirs"


def test_a_file_system_without_links_gets_whole_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(init_command.os, "link", refuse)
    init_command.write_new(tmp_path, {"a": "1"})
    assert (tmp_path / "a").read_text() == "1"
    with pytest.raises(FileExistsError):
        init_command.write_new(tmp_path, {"a": "2"})
    assert listed(tmp_path) == ["a"]


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(path: Path, text: str, _encoding: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fill)
    with pytest.raises(OSError, match="No space"):
        init_command.write_new(tmp_path, {"a": "1"})
    assert listed(tmp_path) == []
