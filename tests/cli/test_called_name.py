"""`holdfast` is the same command as `supervisor`: what it tells the user to call has the name that the user calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfastd.cli.command_table import COMMANDS
from holdfastd.cli.common import output
from tests.cli.commands import Cli, clean
from tests.forked import SUPERVISOR

HOLDFAST = SUPERVISOR.with_name("holdfast")


def by_name(cli: Cli, *words: str) -> tuple[str, str]:
    words = (*words, *(() if "--help" in words else cli.options))
    done = subprocess.run([HOLDFAST, *words], capture_output=True, text=True, cwd=cli.folder, env=clean({}), timeout=60)
    return done.stdout, done.stderr


def test_hints_and_help_have_the_name_that_was_called(cli: Cli) -> None:
    assert "holdfast start" in by_name(cli, "submit", "x", "--task-id", "t-1")[1]
    told = by_name(cli, "why", "t-1")[0]
    assert "you can: holdfast tasks pause t-1; holdfast tasks cancel t-1" in told
    assert "supervisor " not in told
    assert "supervisor tasks pause t-1" in cli("why", "t-1").out
    assert " holdfast start" in by_name(cli, "doctor")[0]
    for words in (["--help"], ["start", "--help"], ["tasks", "show", "--help"]):
        out = by_name(cli, *words)[0]
        assert "holdfast" in out
        assert not any(f"supervisor {name}" in out for name in ("start a", "tasks s", "why", "resume`"))


def test_data_is_printed_as_it_is(cli: Cli) -> None:
    by_name(cli, "submit", "supervisor start", "--task-id", "t-1")
    assert "supervisor start" in by_name(cli, "tasks", "show", "t-1", "--json")[0]
    assert "supervisor start" in by_name(cli, "tasks", "show", "t-1")[0]


def test_all_commands_are_known_here() -> None:
    assert {command.name for command in COMMANDS} <= {*output.COMMANDS.split("|")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("run `supervisor start`", "run `holdfast start`"),
        ("(supervisor lanes list)", "(holdfast lanes list)"),
        ("a supervisor runs already", "a supervisor runs already"),
        ("the supervisor work", "the supervisor work"),
        ("supervisor.toml and supervisor startle", "supervisor.toml and supervisor startle"),
    ],
)
def test_prose_is_left_alone(monkeypatch: pytest.MonkeyPatch, text: str, expected: str) -> None:
    monkeypatch.setattr(sys, "argv", [str(Path("/usr/bin/holdfast"))])
    assert output.as_called(text) == expected
    monkeypatch.setattr(sys, "argv", ["/usr/bin/supervisor"])
    assert output.as_called(text) == text
