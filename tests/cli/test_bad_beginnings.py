"""Errors that stop a start: each is one line, printed once, with the right exit status."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import Answer, Cli, clean
from tests.cli.conftest import running
from tests.cli.limits import limited
from tests.forked import SUPERVISOR

HANDLER = "examples.wordcount:handle"


def start(folder: Path, *options: str, before: tuple[str, ...] = ()) -> Answer:
    words = ("start", HANDLER, "--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state"), *options)
    if not before:
        return Cli(folder)(*words)
    command = [*before, SUPERVISOR, *words]
    done = subprocess.run(command, capture_output=True, cwd=folder, env=clean({}), timeout=60)
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def error_line(answer: Answer) -> str:
    """The one line for people, among those of the log."""
    (line,) = (line for line in answer.err.splitlines() if line.startswith("supervisor: "))
    return line


def test_one_runtime_directory_serves_one_service(short_path: Path) -> None:
    with running(short_path, HANDLER) as (cli, process):
        answer = cli("start", HANDLER, "--state-dir", str(short_path / "other"))
        assert (answer.status, answer.err.count("\n")) == (73, 1)
        assert f"a supervisor runs already in {short_path / 'run'}: stop it, or choose another" in answer.err
        assert cli("status", "--json").document["pid"] == process.pid


def test_one_state_directory_serves_one_service(short_path: Path) -> None:
    with running(short_path, HANDLER) as (cli, _):
        other = Cli(short_path, ("--runtime-dir", str(short_path / "run2"), "--state-dir", str(short_path / "state")))
        answer = other("start", HANDLER)
        assert (answer.status, answer.err.count("\n")) == (73, 1)
        assert "state/store is in use by the store with process id" in answer.err
        assert cli("submit", "x", "--wait").status == 0


def test_data_of_a_newer_engine_is_left_alone(short_path: Path) -> None:
    record = short_path / "state" / "store" / "engine"
    record.parent.mkdir(parents=True)
    record.write_text("valkey 99.1.0\n")
    answer = start(short_path)
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert "was written by valkey 99.1.0, which valkey" in answer.err
    assert "install valkey 99.1 or newer" in answer.err
    assert record.read_text() == "valkey 99.1.0\n"


def test_a_disk_that_is_full_from_the_beginning(short_path: Path) -> None:
    answer = start(short_path, before=limited(kib=512))
    assert (answer.status, answer.err.count("\n")) == (69, 1)
    assert "File too large: make room on that disk, or choose another --state-dir" in answer.err
    assert start(short_path, "--burst").status == 0


def test_what_keeps_the_embedded_store_from_starting_is_told_once_in_its_own_words(short_path: Path) -> None:
    assert start(short_path, "--burst").status == 0
    log = next((short_path / "state" / "store" / "appendonlydir").glob("*.incr.aof"))
    log.write_text("this is no log\n" * 9)
    answer = start(short_path)
    assert answer.status == 69
    assert "the embedded store cannot start: Bad file format reading the append only file" in error_line(answer)
    assert error_line(answer).endswith(f"; see {short_path / 'state' / 'store' / 'server.log'}")
    assert answer.err.count("Bad file format") == 2  # that line, and the first death in the log


@pytest.mark.parametrize("workers", ["1", "8"])
def test_a_handler_that_cannot_be_imported_is_told_once_and_the_store_ends_whole(
    short_path: Path, workers: str
) -> None:
    (short_path / "broken.py").write_text("import nothing_of_this_name\n")
    places = ("--runtime-dir", str(short_path / "run"), "--state-dir", str(short_path / "state"))
    answer = Cli(short_path, places)("start", "broken:handle", "--workers", workers)
    assert answer.status == 78
    assert answer.err.count("No module named") == 3  # the traceback, its cause, and the first death in the log
    assert answer.err.count("Traceback") == 1
    assert "bye bye" in (short_path / "state" / "store" / "server.log").read_text()
