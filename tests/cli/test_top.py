"""`supervisor top` of a real pool: on a terminal, in a pipe, and once."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from holdfastd.cli.top.look import STATUS_TIMEOUT
from tests.cli.commands import Cli, clean
from tests.cli.conftest import running
from tests.forked import SUPERVISOR


class Screen:
    """`supervisor top` on a terminal of 100 by 30."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._seen = ""

    def press(self, *keys: str) -> None:
        os.write(self._terminal, "".join(keys).encode())

    def until(self, text: str) -> str:
        """The output since the last call, up to and with this text."""
        while text not in self._seen:
            self._seen += os.read(self._terminal, 65536).decode(errors="ignore")
        seen, self._seen = self._seen.split(text, 1)
        return seen + text


@contextmanager
def screen(cli: Cli) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 100))
    process = subprocess.Popen(
        [SUPERVISOR, "top", *cli.options], stdin=theirs, stdout=theirs, cwd=cli.folder, env=clean({"TERM": "xterm"})
    )
    os.close(theirs)
    try:
        yield Screen(ours), process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_person_looks_from_pane_to_pane_and_ends_it(pool: Cli) -> None:
    assert pool("submit", "a b", "--wait").status == 0
    with screen(pool) as (top, process):
        top.until("2/2 workers ready")
        top.until("worker 1")
        top.press("2")
        top.until("bindu:tasks")
        top.press("3")
        top.until("(default)")
        top.press("?")
        top.until("another pane")
        top.press("x", "q")
        assert process.wait(60) == 0


def test_an_order_is_asked_back_and_then_carried_out(pool: Cli) -> None:
    with screen(pool) as (top, _):
        top.until("worker 1")
        top.press("j", "j", "j", "j", "Q")
        top.until("sure? y or n")
        top.press("n", "Q")
        top.until("sure? y or n")
        top.press("y")
        top.until("is quiet")
        top.press("U", "y")
        top.until("claims tasks again")


def test_the_history_of_a_task_is_shown(pool: Cli) -> None:
    [task_id] = pool("submit", "a b", "--lane", "nobody").out.split()
    try:
        with screen(pool) as (top, _):
            top.until("worker 1")
            top.press("4", "\r")
            top.until("any key: back")
    finally:
        pool("tasks", "cancel", task_id)


def test_a_pipe_gets_a_document_a_line(pool: Cli) -> None:
    process = subprocess.Popen(
        [SUPERVISOR, "top", *pool.options], stdout=subprocess.PIPE, cwd=pool.folder, env=clean({}), text=True
    )
    assert process.stdout is not None
    try:
        documents = [json.loads(process.stdout.readline()) for _ in range(2)]
        while not documents[-1]["workers"]:  # the supervisor was slow to say
            documents.append(json.loads(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    assert documents[0]["now_ms"] < documents[1]["now_ms"]
    assert {each["process"] for each in documents[-1]["workers"]} >= {"worker 0", "worker 1", "steward"}


def test_once_prints_all_panes(pool: Cli) -> None:
    text = pool("top", "--once").out
    for pane in ("workers", "lanes", "handlers", "tasks", "deaths", "schedules"):
        assert f"\n{pane}\n" in text
    assert "worker 0" in text


def test_once_waits_for_a_supervisor_that_is_slow_to_answer(short_path: Path) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, process):
        os.kill(process.pid, signal.SIGSTOP)
        goes_on = Timer(2 * STATUS_TIMEOUT, os.kill, (process.pid, signal.SIGCONT))
        try:
            late = cli("top", "--once", "--timeout", "0.01s").out
            assert "; no supervisor answers on this host\n" in late
            assert "worker 0" in late, "the store knows it"
            goes_on.start()
            assert "1/1 workers ready" in cli("top", "--once", "--timeout", "60s").out
        finally:
            goes_on.cancel()
            os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize("given", [["--once"], ["--once", "--json"]])
def test_only_the_workers_of_one_host(pool: Cli, given: list[str]) -> None:
    assert "worker 0" not in pool("top", *given, "--host", "another").out


def test_a_store_that_is_away_is_one_line(alone: Cli) -> None:
    refused = alone("top", "--once")
    assert refused.status != 0
    assert refused.err.count("\n") <= 4
    assert "Traceback" not in refused.err
