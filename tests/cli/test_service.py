"""`start`, `stop`, `status`, `scale` and waiting for results: a real supervisor on the embedded store."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from holdfast_config import RedisSettings
from tests.cli.commands import Cli, clean
from tests.cli.conftest import running
from tests.forked import COMMAND, SUPERVISOR, Program, popen

SLOW = '''
import asyncio

async def handle(messages):
    """Says that it runs, and goes on until it is cancelled."""
    open("running", "w").close()
    await asyncio.sleep(3600)
'''


def test_results_are_lines_in_a_pipe(pool: Cli) -> None:
    answer = pool("submit", "a b a", "--wait")
    assert answer.status == 0
    (line,) = answer.lines
    assert (line["state"], line["error"]) == ("completed", None)
    assert line["result"]["words"] == 3


def test_results_are_text_under_a_bar_on_a_terminal(pool: Cli) -> None:
    answer = pool.on_terminal("submit", "a b", "c", "--wait")
    assert answer.status == 0
    assert answer.out.count(' completed: {"lines": 1') == 2
    assert "2/2" in answer.out


def test_a_failed_task_exits_1(pool: Cli) -> None:
    answer = pool("submit", "--data", "[1]", "--wait")
    (line,) = answer.lines
    assert answer.status == 1
    assert line["state"] == "rejected"
    assert line["error"]["type"] == "Reject"
    assert "send a path or a text" in pool("tasks", "show", line["task_id"]).out


def test_every_line_of_a_long_input_gets_its_result(pool: Cli) -> None:
    answer = pool("submit", "--lines", "-", "--wait", stdin=b"".join(b"n%d\n" % n for n in range(3000)))
    assert answer.status == 0
    words = {line["result"]["common"][0][0] for line in answer.lines}
    assert words == {f"n{n}" for n in range(3000)}


def test_a_delayed_task_is_waited_for(pool: Cli) -> None:
    (line,) = pool("submit", "x", "--delay", "200ms", "--wait").lines
    assert line["state"] == "completed"


def test_status_shows_processes_with_memory_and_the_store(pool: Cli) -> None:
    status = pool("status", "--json").document
    assert (status["state"], status["ready"], status["target"]) == ("running", 2, 2)
    assert sorted(process["kind"] for process in status["processes"]) == [
        "loader",
        "steward",
        "store",
        "worker",
        "worker",
    ]
    assert all(process["memory_bytes"] > 0 for process in status["processes"])
    assert status["counts"]["workers"] == 2
    text = pool("status").out
    assert "2 of 2 workers ready" in text
    assert "worker 1" in text
    assert "worker 1" in pool.on_terminal("status").out


@pytest.mark.parametrize("rows", [13, 24])
def test_status_fits_the_screen_and_says_how_to_see_the_rest(pool: Cli, rows: int) -> None:
    small = Cli(pool.folder, pool.options, {"COLUMNS": "80", "LINES": str(rows)})
    shown = small.on_terminal("status").out.splitlines()
    assert sum(max(1, -(-len(re.sub(r"\x1b\[[\d;]*m", "", line)) // 80)) for line in shown) < rows
    left_out = [line for line in shown if line.endswith("--wide shows all") and line.startswith("and ")]
    assert len(left_out) == (rows == 13)
    assert sum("worker 1 " in line for line in shown) == (rows == 24), "a ready worker is left out first"
    assert any(line.startswith("steward") for line in shown)
    assert any(line.startswith("worker 1") for line in small.on_terminal("status", "--wide").out.splitlines())
    assert any(line.startswith("worker 1") for line in small("status").out.splitlines()), "a pipe has room for all"


def test_workers_lists_those_of_status(pool: Cli) -> None:
    pids = {process["pid"] for process in pool("status", "--json").document["processes"] if process["kind"] == "worker"}
    assert {worker["pid"] for worker in pool("workers", "--json").document} == pids
    assert all(str(pid) in pool("workers").out for pid in pids)


def test_a_second_start_exits_73(pool: Cli) -> None:
    answer = pool("start", "examples.wordcount:handle", "--state-dir", str(pool.folder / "other"))
    assert answer.status == 73
    assert pool("status").status == 0


@pytest.mark.parametrize("command", [["status"], ["stop"], ["scale", "3"]])
def test_without_a_supervisor_commands_say_how_to_start_one(alone: Cli, command: list[str]) -> None:
    answer = alone(*command)
    assert (answer.status, answer.out) == (1, "")
    assert "start one" in answer.err
    assert answer.err.count("\n") == 1


def test_a_handler_that_is_not_there_exits_78_with_its_traceback(alone: Cli) -> None:
    answer = alone("start", "nowhere:handle", "--state-dir", str(alone.folder / "state"))
    assert answer.status == 78
    assert "nowhere" in answer.err


@pytest.mark.parametrize(("handler", "hint"), [((), "agent.py"), (("handler.py",), "module:attribute")])
def test_a_handler_without_a_proper_name_is_told_before_anything_starts(
    alone: Cli, handler: tuple[str, ...], hint: str
) -> None:
    answer = alone("start", *handler, "--state-dir", str(alone.folder / "state"))
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert hint in answer.err
    assert not (alone.folder / "state").exists()


def test_scale_changes_how_many_run(short_path: Path) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, _):
        assert cli("scale", "2", "--json").document == {"target": 2}
        assert cli("status", "--json").document["target"] == 2
        assert cli("scale", "0").status == 2


def test_stop_waits_for_the_end(short_path: Path) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, process):
        answer = cli("stop")
        assert (answer.status, answer.out) == (0, "stopped\n")
        assert process.wait(60) == 0
        assert cli("status").status == 1


@contextmanager
def running_a_task(folder: Path, drain_timeout: str) -> Iterator[tuple[Cli, Program, str]]:
    """A service whose only worker runs a task, until that is cancelled; and the task's id."""
    (folder / "slow.py").write_text(SLOW)
    os.mkfifo(folder / "running")
    with running(folder, "slow:handle", "--workers", "1", "--drain-timeout", drain_timeout) as (cli, process):
        task_id = cli("submit", "x").out.strip()
        (folder / "running").read_bytes()  # until the handler has opened it
        yield cli, process, task_id


def test_stop_says_when_a_task_took_too_long(short_path: Path) -> None:
    with running_a_task(short_path, drain_timeout="0.5") as (cli, process, _):
        answer = cli("stop")
        assert (answer.status, process.wait(60)) == (75, 75)
        assert "put back into the queue" in answer.out


def test_stop_gives_up_waiting_when_told_so_while_the_drain_goes_on(short_path: Path) -> None:
    with running_a_task(short_path, drain_timeout="600") as (cli, process, task_id):
        answer = cli("stop", "--timeout", "0.2")
        assert answer.status == 1
        assert "still has running tasks" in answer.err
        assert cli("status", "--json").document["state"] == "draining"
        cli("tasks", "cancel", task_id)  # the only task ends, and with it the drain
        assert process.wait(60) == 0


def test_stop_now_cancels_the_running_tasks_of_a_stop_that_waits(short_path: Path) -> None:
    with running_a_task(short_path, drain_timeout="600") as (cli, process, _):
        assert cli("stop", "--timeout", "0").status == 1
        answer = cli("stop", "--now", "-c", str(short_path / "missing.toml"))
        assert (answer.status, process.wait(10)) == (75, 75)
        assert "missing.toml: cannot be read" in answer.err, "the runtime folder is known by its option"


def test_an_interrupted_wait_leaves_the_task(pool: Cli) -> None:
    with subprocess.Popen(
        [SUPERVISOR, "submit", "--lines", "-", "--delay", "1h", "--wait", "--json", *pool.options],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean({}),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.close()
        assert any(pool("tasks", "list", "--state", "delayed", "--json").lines for _ in range(100))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    (task,) = pool("tasks", "list", "--state", "delayed", "--json").lines
    assert pool("tasks", "cancel", task["task_id"]).status == 0


def test_status_without_its_store_still_shows_the_rest(short_path: Path) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, _):
        answer = cli("status", "--redis-url", "redis://localhost:1")
        assert answer.status == 0
        assert "worker 0" in answer.out
        assert "no counts from the store: Redis at redis://localhost:1 cannot be reached" in answer.out


def test_status_names_the_store_that_only_the_supervisor_was_told(
    redis_settings: RedisSettings, short_path: Path
) -> None:
    store = ("--redis-url", redis_settings.url, "--queue-name", redis_settings.queue)
    with running(short_path, "examples.wordcount:handle", "--workers", "1", *store) as (cli, _):
        assert redis_settings.url in cli("status").out
        assert "--redis-url" in cli("status").out
        assert cli("status", *store, "--json").document["counts"]["workers"] == 1


def test_after_stop_another_can_start_at_once(short_path: Path) -> None:
    for _ in range(3):
        with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, process):
            end = os.pidfd_open(process.pid)
            assert cli("stop").status == 0
            assert select.select([end], [], [], 0)[0]  # it has ended
            os.close(end)


def test_more_workers_than_the_host_can_hold_are_refused_in_one_line(alone: Cli) -> None:
    command = [str(SUPERVISOR), "start", "agent:handle", "--workers", "200", *alone.options]
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -n 250; exec "$@"', "sh", *command, "--state-dir", str(alone.folder / "state")],
        capture_output=True,
        text=True,
        cwd=alone.folder,
        env=clean({}),
    )
    assert (limited.returncode, limited.stderr.count("\n")) == (78, 1)
    assert "cannot hold 200 workers, 50 at most: a process may have 250 files open" in limited.stderr


NAMED = """
from holdfast import Handlers

handlers = Handlers()
for number in range({count}):
    handlers.register(f"part {{number}}")(lambda x=0: x)
{more}
"""


@pytest.mark.parametrize(
    ("count", "more", "lines"),
    [
        (2, "", ["handlers: part 0, part 1", "submit --name 'part 0' --data JSON"]),
        (7, "", ["handlers: part 0, part 1, part 2, part 3, part 4 and 2 more", "submit --name 'part 0' --data JSON"]),
        (2, "handlers.default(lambda messages: 1)", ["submit TEXT"]),
    ],
)
def test_the_last_lines_of_start_say_what_can_be_submitted(
    short_path: Path, count: int, more: str, lines: list[str]
) -> None:
    (short_path / "named.py").write_text(NAMED.format(count=count, more=more))
    places = ("--runtime-dir", str(short_path / "run"), "--state-dir", str(short_path / "state"))
    words = ["start", "named:handlers", *places, "--workers", "2"]
    process = popen(COMMAND, words, cwd=short_path, env=clean({}), stdin=DEVNULL, stderr=PIPE, text=True)
    assert process.stderr is not None
    printed = list[str]()
    for line in process.stderr:
        printed.append(line)
        if "Ctrl-C drains" in line:
            break
    process.terminate()
    process.stderr.read()
    process.wait(60)
    process.stderr.close()
    after = printed[next(number for number, line in enumerate(printed) if "workers ready, " in line) + 1 :]
    assert [each.removeprefix("supervisor: ") for each in after] == [
        *(f"{line}\n" for line in lines[:-1]),
        f"submit work with: supervisor {lines[-1]}; Ctrl-C drains and ends\n",
    ]
