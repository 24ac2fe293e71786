"""`supervisor tasks errors`, and `--error` of other commands, after real workers have failed."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands import Cli
from tests.cli.test_burst import burst

HANDLER = """
import os, signal, time
from holdfast import Handlers, Reject

handlers = Handlers()

def charge(customer):
    raise LookupError(f"no customer {customer}")

@handlers.register("pay")
def pay(customer: int):
    charge(customer)

@handlers.register("bill")
def bill(customer: int):
    if customer % 2:
        charge(customer)
    raise Reject(f"customer {customer!r} is closed")

@handlers.register("slow", timeout=0.2)
async def slow():
    import asyncio
    await asyncio.sleep(60)

@handlers.register("dies")
def dies():
    os.kill(os.getpid(), signal.SIGKILL)

handle = handlers
"""


@pytest.fixture
def failed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Tasks of four handlers have failed in each way."""
    monkeypatch.setattr("tests.cli.test_burst.HANDLER", HANDLER)
    tasks = [("pay", {"customer": 1}), ("pay", {"customer": 22}), ("bill", {"customer": 3}), ("bill", {"customer": 4})]
    for calls in (
        [*tasks, ("slow", {}), ("pay", {"customer": "x"})],
        [("dies", {})],
    ):  # a death counts for all that run
        lines = [
            json.dumps({"task_id": f"{name}-{at}", "name": name, "kwargs": kwargs, "max_attempts": 1})
            for at, (name, kwargs) in enumerate(calls)
        ]
        assert cli("submit", "--jsonl", "-", stdin="\n".join(lines).encode()).status == 0
        status, last = burst(cli)
        assert status == 0, last
    return cli


def test_each_way_to_fail_is_a_kind_and_a_retry_of_one_touches_no_other(failed: Cli) -> None:
    found = failed("tasks", "errors", "--json").lines
    kinds = {(each["handler"], each["type"]): each for each in found}
    assert set(kinds) == {
        ("pay", "LookupError"),
        ("bill", "LookupError"),
        ("bill", "Reject"),
        ("slow", "TaskTimeout"),
        ("dies", "WorkerDied"),
        ("pay", "BadArguments"),
    }
    lookup, other = kinds["pay", "LookupError"], kinds["bill", "LookupError"]
    assert (lookup["message"], lookup["place"].rpartition(".")[2]) == ("no customer #", "agent:charge")
    assert (lookup["runs"], lookup["failed"], lookup["dead"], other["failed"]) == (2, 2, 2, 1)
    assert kinds["bill", "Reject"]["message"] == "customer # is closed"
    assert "signal: SIGKILL" in kinds["dies", "WorkerDied"]["message"]
    kind = lookup["kind"]
    assert kind in failed("tasks", "errors").out
    assert {each["task_id"] for each in failed("tasks", "list", "--error", kind, "--json").lines} == {"pay-0", "pay-1"}
    assert {each["task_id"] for each in failed("dead", "list", "--error", kind, "--json").lines} == {"pay-0", "pay-1"}
    assert failed("tasks", "show", "pay-0", "--json").document["error_kind"] == kind
    again = failed("tasks", "retry", "--error", kind, "--yes")
    assert (again.status, again.out) == (0, "2 changed, 0 refused of 2 searched\n")
    states = {each["task_id"]: each["state"] for each in failed("tasks", "list", "--json").lines}
    assert {task for task, state in states.items() if state == "submitted"} == {"pay-0.r1", "pay-1.r1"}
    assert [each["failed"] for each in failed("tasks", "errors", "--json").lines if each["kind"] == kind] == [0]
    assert failed("dead", "retry", "--error", other["kind"], "--yes").out == "bill-2 runs again as bill-2.r1\n"
    wrong = failed("tasks", "list", "--error", "LookupError")
    assert wrong.status == 2
    assert "12 hex digits; `supervisor tasks errors` lists them" in wrong.err
