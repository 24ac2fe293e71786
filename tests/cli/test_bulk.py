"""Changes of many tasks by the command line: counted, asked about, carried out in steps, stopped and taken up again."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
import redis

from holdfast.client.bulk_steps import asked_change
from holdfast.client.task_filter import TaskFilter
from holdfast.core.bulk_changes import BulkVerb
from holdfast.errors import StoreUnavailableError
from holdfastd.cli.tasks import bulk
from tests.cli.commands import Cli, clean
from tests.forked import COMMAND, popen

FILTER = "--state, --lane, --name, --text, --batch, --owner, --error, --older, --newer"


def test_all_that_a_filter_finds_is_canceled_retried_and_removed(cli: Cli) -> None:
    cli("submit", "--lines", "-", stdin=b"".join(b"word %d\n" % n for n in range(120)))
    cli("submit", "other", "--lane", "slow", "--task-id", "other")
    answer = cli("tasks", "cancel", "--text", "word 1", "--reason", "a mistake", "--yes")
    assert (answer.status, answer.out) == (0, "31 changed, 0 refused of 121 searched\n")
    canceled = cli("tasks", "list", "--state", "canceled", "--json").lines
    assert len(canceled) == 31
    assert canceled[0]["reason"].startswith("a mistake (canceled with others by ")
    assert canceled[0]["reason"].endswith(", from the command line)")
    done = cli("tasks", "retry", "--state", "canceled", "--yes", "--json").document
    assert (done["state"], done["changed"], done["filter"]) == ("done", 31, "state=canceled")
    assert cli("tasks", "remove", "--all", "--yes").out == "31 changed, 0 refused of 31 searched\n"
    assert cli("tasks", "cancel", "--lane", "slow", "--yes").out.startswith("1 changed")
    listed = cli("tasks", "bulk", "list", "--json").document["changes"]
    assert [(each["verb"], each["changed"]) for each in listed] == [
        ("cancel", 1),
        ("remove", 31),
        ("retry", 31),
        ("cancel", 31),
    ]
    assert "text=word+1" in cli("tasks", "bulk", "list").out


def test_hidden_values_are_not_searched(cli: Cli) -> None:
    cli("submit", "--data", json.dumps({"password": "hunter2"}), "--task-id", "hidden")
    assert cli("tasks", "cancel", "--text", "hunter2", "--yes").out == "0 changed, 0 refused of 1 searched\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cancel"], FILTER),
        (["cancel", "a", "--all"], "exclude each other"),
        (["remove", "a", "--lane", "b"], "exclude each other"),
        (["retry", "--all"], "--yes"),
        (["cancel", "--state", "completed", "--yes"], "cancel changes no task that is completed"),
        (["retry", "--text", "x" * 201, "--yes"], "characters to search for"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(cli: Cli, words: list[str], said: str) -> None:
    cli("submit", "x", "--task-id", "a")
    answer = cli("tasks", *words)
    assert (answer.status, said in " ".join(answer.err.split())) == (2, True), answer.err
    assert cli("tasks", "bulk", "list", "--json").document == {"changes": []}
    assert cli("tasks", "count", "--json").document["submitted"] == 1


def test_a_change_that_is_not_known_or_not_stopped_is_refused(cli: Cli) -> None:
    cli("tasks", "cancel", "--all", "--yes")
    [done] = cli("tasks", "bulk", "list", "--json").document["changes"]
    for change_id in ("none", done["change_id"]):
        for verb, why in (
            ("stop", "no running bulk change has this id"),
            ("go-on", "no stopped bulk change has this id"),
        ):
            answer = cli("tasks", "bulk", verb, change_id)
            assert (answer.status, why in answer.err) == (1, True)


def test_an_interrupt_stops_it_after_its_step_and_it_is_taken_up_again(cli: Cli, short_path: Path) -> None:
    number = 5000
    cli("submit", "--lines", "-", stdin=b"x\n" * number)
    words = ["tasks", "cancel", "--all", "--yes", *cli.options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = popen(COMMAND, words, kind="commands", cwd=short_path, env=clean({}), **pipes)
    with redis.Redis.from_url(cli.options[1]) as client:
        while not client.zcard(f"{{{cli.options[-1]}}}:bulk_changes"):
            assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(b"", 60)
    assert process.returncode == 130
    [change] = cli("tasks", "bulk", "list", "--json").document["changes"]
    canceled = cli("tasks", "count", "--json").document["canceled"]
    assert (change["state"], change["changed"]) == ("stopped", canceled)
    assert canceled < number
    assert f"`supervisor tasks bulk go-on {change['change_id']}` goes on" in err.decode()
    answer = cli("tasks", "bulk", "go-on", change["change_id"])
    assert (answer.status, answer.out) == (0, f"{number} changed, 0 refused of {number} searched\n")


@pytest.mark.anyio
async def test_an_interrupt_while_the_store_is_away_ends_it_as_an_interrupt() -> None:
    tried = anyio.Event()

    async def away(*_: object) -> None:
        tried.set()
        raise StoreUnavailableError("the store is away")

    async def counts() -> Any:
        return SimpleNamespace(states={})

    steps, store = SimpleNamespace(noted_step=away), SimpleNamespace(counts=counts)
    change = asked_change(BulkVerb.CANCEL, TaskFilter(), who="me", origin="here")
    async with anyio.create_task_group() as group:
        group.start_soon(bulk._to_its_end, cast("Any", steps), cast("Any", store), change, away)
        await tried.wait()
        group.cancel_scope.cancel()
    assert group.cancel_scope.cancelled_caught
