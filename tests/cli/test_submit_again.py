"""`supervisor submit --lines` and `--jsonl`, a second time: the same lines of a file are the same tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Cli

LINES = "one\ntwo\ntwo\n"


@pytest.fixture
def path(cli: Cli) -> Path:
    made = cli.folder / "lines"
    made.write_text(LINES)
    return made


def backlog(cli: Cli) -> int:
    return int(cli("queue", "length").out.split()[-1])


@pytest.mark.parametrize("by", ["name", "path"])
def test_the_same_file_again_adds_nothing(cli: Cli, path: Path, by: str) -> None:
    first = cli("submit", "--lines", "lines")
    again = cli("submit", "--lines", "lines" if by == "name" else str(path))
    assert (again.status, again.out) == (0, first.out)
    assert len(set(first.out.split())) == 3  # two lines with the same text are two tasks
    assert backlog(cli) == 3
    assert "3 tasks accepted, 3 of them submitted before and not added again (--again adds them)" in again.err


def test_again_adds_the_same_lines_once_more(cli: Cli, path: Path) -> None:
    cli("submit", "--lines", str(path))
    assert cli("submit", "--lines", str(path), "--again").status == 0
    assert backlog(cli) == 6


def test_a_file_that_was_mended_adds_what_was_missing(cli: Cli, path: Path) -> None:
    path.write_bytes(b"good\n" * 20_000 + b"\xff\n" + b"more\n" * 3)  # many chunks, the last with a bad line
    first = cli("submit", "--lines", str(path))
    assert first.status == 1
    accepted = backlog(cli)
    assert 0 < accepted < 20_000
    assert f"line 20001: not UTF-8; {accepted} tasks accepted, up to line {accepted}; submitted again" in first.err
    path.write_bytes(b"good\n" * 20_000 + b"mended\n" + b"more\n" * 3)
    assert f"20004 tasks accepted, {accepted} of them submitted before" in cli("submit", "--lines", str(path)).err
    assert backlog(cli) == 20_004


def test_lines_appended_to_a_file_are_added(cli: Cli, path: Path) -> None:
    cli("submit", "--lines", str(path))
    path.write_text(LINES + "three\n")
    cli("submit", "--lines", str(path))
    assert backlog(cli) == 4


def test_another_file_and_other_options_are_other_tasks(cli: Cli, path: Path) -> None:
    cli("submit", "--lines", str(path))
    other = path.with_name("other")
    other.write_text(LINES)
    cli("submit", "--lines", str(other))
    assert backlog(cli) == 6
    cli("submit", "--lines", str(path), "--max-attempts", "7")
    assert backlog(cli) == 9


def test_the_same_lines_of_a_pipe_are_new_tasks_unless_a_key_names_them(cli: Cli) -> None:
    for _ in range(2):
        cli("submit", "--lines", "-", stdin=LINES.encode())
    assert backlog(cli) == 6
    for _ in range(2):
        cli("submit", "--lines", "-", "--key", "monday", stdin=LINES.encode())
    assert backlog(cli) == 9
    cli("submit", "--lines", "-", "--key", "tuesday", stdin=LINES.encode())
    assert backlog(cli) == 12


def test_an_object_with_an_id_keeps_it(cli: Cli, path: Path) -> None:
    path.write_text('{"text": "a", "task_id": "mine"}\n{"text": "b"}\n')
    first, again = (cli("submit", "--jsonl", str(path)).out.split() for _ in range(2))
    assert first == again
    assert first[0] == "mine"
    assert backlog(cli) == 2


def test_tasks_that_have_ended_are_not_run_again(cli: Cli, path: Path) -> None:
    for task_id in cli("submit", "--lines", str(path)).out.split():
        cli("tasks", "cancel", task_id)
    assert "3 of them submitted before" in cli("submit", "--lines", str(path)).err
    assert cli("tasks", "list", "--state", "submitted", "--json").lines == []


def test_progress_of_lines_is_shown_on_a_terminal_without_waiting(cli: Cli, path: Path) -> None:
    shown = cli.on_terminal("submit", "--lines", str(path)).out
    assert "3 tasks accepted, " in shown
    assert " a second" in shown


def test_a_quick_command_prints_no_progress_where_no_terminal_is(cli: Cli, path: Path) -> None:
    assert " a second" not in cli("submit", "--lines", str(path)).err
