"""Standard streams that are closed, full or read by nobody: an accepted task is never reported as one that failed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import NOBODY, Answer, Cli, clean
from tests.forked import SUPERVISOR

FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


def in_shell(cli: Cli, line: str) -> Answer:
    """A shell's line; `S` in it is the command with its options behind."""
    script = f's() {{ "{SUPERVISOR}" "$@" {" ".join(cli.options)}; }}\n{line}'
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, cwd=cli.folder, env=clean(cli.environ), timeout=60
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def accepted(cli: Cli) -> int:
    """Tasks that wait in the queue."""
    return int(cli("queue", "length", "--json").document["length"])


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(cli: Cli, closed: str) -> None:
    answer = in_shell(cli, f"s submit hi {closed}")
    assert (answer.status, answer.err) == (0, "" if "2>&-" in closed else NOBODY)
    assert accepted(cli) == 1
    assert bool(answer.out.strip()) is (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_error_of_what_only_looks(cli: Cli, closed: str) -> None:
    answer = in_shell(cli, f"s tasks list {closed}")
    assert (answer.status, answer.err) == (0, "")


@needs_full
def test_a_full_output_says_that_the_tasks_are_accepted(cli: Cli) -> None:
    answer = in_shell(cli, "s submit one two > /dev/full")
    error = "supervisor: standard output cannot be written: No space left on device; 2 tasks accepted\n"
    assert (answer.status, answer.err) == (74, NOBODY + error)
    assert accepted(cli) == 2


@needs_full
def test_a_full_output_of_what_only_looks_is_one_line(cli: Cli) -> None:
    answer = in_shell(cli, "s config show --runtime-dir run > /dev/full")
    assert (answer.status, answer.err.splitlines()) == (
        74,
        ["supervisor: standard output cannot be written: No space left on device"],
    )


@needs_full
def test_a_full_output_of_errors_changes_no_status(cli: Cli) -> None:
    assert in_shell(cli, "s submit hi 2> /dev/full").status == 0
    assert in_shell(cli, "s submit 2> /dev/full").status == 2
    assert in_shell(cli, "s submit hi there --task-id x 2> /dev/full").status == 2


def test_a_reader_that_leaves_does_not_end_the_submission(cli: Cli) -> None:
    (cli.folder / "lines").write_text("".join(f"line {n}\n" for n in range(3000)))
    answer = in_shell(cli, "s submit --lines lines | head -1; exit ${PIPESTATUS[0]}")
    assert (answer.status, answer.out.count("\n")) == (0, 1)
    assert answer.err == NOBODY + "supervisor: standard output was closed; 3000 tasks accepted\n"
    assert accepted(cli) == 3000


def test_a_reader_that_leaves_ends_what_only_looks_without_a_word_as_by_sigpipe(cli: Cli) -> None:
    (cli.folder / "lines").write_text("".join(f"line {n}\n" for n in range(3000)))
    assert cli("submit", "--lines", "lines").status == 0
    for listing in ("tasks list --limit 3000", "events --since 1h"):
        answer = in_shell(cli, f"s {listing} | head -1; exit ${{PIPESTATUS[0]}}")
        assert (answer.status, answer.out.count("\n"), answer.err) == (141, 1, "")
