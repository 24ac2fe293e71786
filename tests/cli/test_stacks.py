"""`supervisor stacks`: the lines of code at which the tasks and threads of workers are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfastd.control.local_supervisor import Found
from holdfastd.control.socket_protocol import ControlError, ProcessStatus, SupervisorStatus
from tests.cli.commands import Cli
from tests.cli.conftest import running
from tests.web.test_workers_page import SLOW

TASK = "slow-task-1"


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """Two workers, of which one runs TASK."""
    folder = tmp_path_factory.mktemp("s")
    (folder / "slow.py").write_text(SLOW)
    with running(folder, "slow:handlers", "--workers", "2", "--drain-timeout", "1") as (cli, _):
        cli("submit", "--name", "slow.one", "--data", '{"region": "asia"}', "--task-id", TASK)
        while not any(each["running"] for each in workers(cli)):
            pass
        yield cli


def workers(cli: Cli) -> list[dict[str, Any]]:
    return [each for each in cli("status", "--json").document["processes"] if each["kind"] == "worker"]


def test_all_workers_show_their_tasks_and_threads(busy: Cli) -> None:
    shown = busy("stacks")
    assert (shown.status, shown.err) == (0, "")
    for each in workers(busy):
        assert f"worker {each['slot']}, pid {each['pid']}, incarnation {each['incarnation']}\n" in shown.out
    assert f"Task {TASK}, handler slow.one, for " in shown.out
    assert "    await asyncio.sleep(60)\n" in shown.out
    assert shown.out.count("Current thread") == 2


WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "task": lambda _: TASK,
    "beginning of a task": lambda _: TASK[:6],
    "number": lambda worker: str(worker["slot"]),
    "process": lambda worker: str(worker["pid"]),
    "incarnation": lambda worker: worker["incarnation"],
}


@pytest.mark.parametrize("word", list(WORDS.values()), ids=list(WORDS))
def test_a_worker_is_named_by_its_number_its_process_its_incarnation_or_its_task(
    busy: Cli, word: Callable[[dict[str, Any]], str]
) -> None:
    (worker,) = [each for each in workers(busy) if each["running"]]
    (found,) = busy("stacks", word(worker), "--json").document
    assert (found["incarnation"], found["error"]) == (worker["incarnation"], "")
    assert TASK in {each["task_id"] for each in found["stacks"]["tasks"]}
    assert "most recent call first" in found["stacks"]["threads"]


def test_for_a_task_the_workers_own_tasks_are_left_out(busy: Cli) -> None:
    assert "Asyncio tasks of the worker itself: " in busy("stacks").out
    assert "Asyncio tasks of the worker itself: " not in busy("stacks", TASK).out


def test_an_unknown_word_is_refused(busy: Cli) -> None:
    unknown = busy("stacks", "nobody")
    assert (unknown.status, unknown.out) == (1, "")
    assert "has no worker nobody, and runs no task with this id; see supervisor status" in unknown.err


def process(slot: int, incarnation: str, kind: str = "worker", state: str = "ready") -> ProcessStatus:
    return ProcessStatus(kind, slot, 100 + slot, incarnation, state, 1.0, [f"t{slot}-{kind}"], 0, 0, 0, 0.0)


def test_a_number_is_of_a_worker_and_a_beginning_that_fits_several_workers_is_refused(busy: Cli) -> None:
    status = msgspec.json.decode(busy("status", "--json").out, type=SupervisorStatus)
    processes = [
        process(1, "aa1"),
        process(2, "aa2"),
        process(1, "1bb", "quarantine"),
        process(3, "3cc", state="booting"),
    ]
    found = Found(Path(), msgspec.structs.replace(status, processes=processes))
    assert [found.worker(word).incarnation for word in ("1", "102", "1b", "aa2", "t1-q")] == [
        *("aa1", "aa2", "1bb", "aa2", "1bb")
    ]
    for word, refusal in (("aa", "aa fits 2 workers of this host"), ("3", "has no worker 3,"), ("", "has no worker ,")):
        with pytest.raises(ControlError, match=refusal):
            found.worker(word)


def test_a_worker_without_stacks_hides_none_of_the_others(short_path: Path) -> None:
    (short_path / "hiding.py").write_text(HIDING)
    with running(short_path, "hiding:handlers", "--workers", "2") as (cli, _):
        done = cli("submit", "--wait", "--name", "hide", "--data", "{}")
        assert done.status == 0, (done.out, done.err)
        pid = done.lines[0]["result"]
        shown = cli("stacks")
        (hidden,) = [each for each in workers(cli) if each["pid"] == pid]
        assert shown.status == 1
        assert f"worker {hidden['slot']}: process {pid} is no worker, so it has no stacks to show" in shown.err
        assert shown.out.count("Current thread") == 1
        assert cli("stacks", str(pid)).status == 1


HIDING = """
import os
from holdfast import Handlers

handlers = Handlers()

@handlers.register("hide")
def hide() -> int:
    for each in os.listdir("/proc/self/fd"):
        try:
            if "holdfast-stacks" in os.readlink(f"/proc/self/fd/{each}"):
                os.close(int(each))
        except OSError:
            pass
    return os.getpid()
"""


def test_where_no_supervisor_runs_the_command_says_so(short_path: Path, alone: Cli) -> None:
    refused = alone("stacks")
    assert refused.status == 1
    assert "no supervisor runs in" in refused.err
