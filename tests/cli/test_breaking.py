"""Things broken on purpose, in the first hour: what somebody at the terminal is told then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfastd.cli.submit.submit_windows import Tally
from tests.cli.commands import Cli, clean
from tests.cli.conftest import running
from tests.forked import SUPERVISOR

HANDLER = """
import asyncio

async def handle(messages):
    text = messages[-1]["parts"][0]["text"]
    if text == "bad":
        raise ValueError("no \\x1b[31m good")
    if text == "wait":
        open("running", "w").close()
        await asyncio.sleep(3600)
    return text
"""


def begin(folder: Path) -> None:
    (folder / "agent.py").write_text(HANDLER)
    os.mkfifo(folder / "running")


@contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def test_a_wait_outlives_a_store_that_is_away_for_a_while(short_path: Path) -> None:
    begin(short_path)
    with running(short_path, "--workers", "2") as (cli, supervisor):
        submit = [SUPERVISOR, "submit", "--lines", "-", "--wait", *cli.options]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(submit, **pipes, text=True, cwd=short_path, env=clean({})) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("one\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["result"] == "one"
            store = cli("status", "--json").document["store"]["pid"]
            with stopped(supervisor):  # nobody starts the store again
                os.kill(store, signal.SIGKILL)
                process.stdin.write("two\n")
                process.stdin.close()
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(1.5)
            assert json.loads(process.stdout.readline())["result"] == "two"
            assert process.wait(30) == 0


def test_a_stop_says_what_it_waits_for_and_an_error_is_shown_as_it_was_raised(short_path: Path) -> None:
    begin(short_path)
    with running(short_path, "--workers", "2", "--drain-timeout", "1", "--max-attempts", "1") as (cli, supervisor):
        assert cli("submit", "--wait", "--task-id", "wrong", "bad").status == 1
        shown = cli("dead", "show", "wrong").out.splitlines()
        assert '      raise ValueError("no \\x1b[31m good")' in [line.replace("\\\\", "\\") for line in shown]
        assert "none" in cli.on_terminal("workers", "--deaths").out.splitlines()[-1]
        cli("submit", "wait")
        (short_path / "running").open().close()
        await_running(cli)
        answer = cli("stop")
        assert (
            answer.err == "supervisor: waiting for 1 running task; interrupting this command does not cancel the stop\n"
        )
        assert (answer.status, supervisor.wait(60)) == (75, 75)


def await_running(cli: Cli) -> None:
    """Until the parent has heard that a worker runs something."""
    while not any(process["running"] for process in cli("status", "--json").document["processes"]):
        pass


def test_a_store_that_cannot_be_found_is_explained_to_who_submits(alone: Cli) -> None:
    for words in (["hello"], ["--lines", "-"]):
        answer = alone("submit", *words, "--submit-timeout", "0.5", stdin=b"hello\n")
        assert answer.status == 69
        assert "supervisor start" in answer.err


def test_how_far_a_stream_came_is_told_with_what_ended_it() -> None:
    assert Tally().upto() == ""
    text = Tally(accepted=1, settled=1, line=2).upto()
    assert text == "all lines up to 2 were accepted (1 task), perhaps more; 1 settled"
