"""`supervisor quiet` and `resume` against a real store: who is told, and where it is shown."""

from __future__ import annotations

import socket

import pytest

from holdfast.core.worker_records import Introduction
from tests.cli.commands import Cli
from tests.cli.stores import with_store

HERE = socket.gethostname()


@pytest.fixture
def hosts(inside: Cli) -> Cli:
    """Commands of a queue on which a worker of this host and one of another live."""

    async def register(store: object) -> None:
        for name, host in (("a", HERE), ("b", "other")):
            await store.register(Introduction(name, host, "boot", 1, 0))  # type: ignore[attr-defined]  # a RedisStore

    with_store(inside, register)
    return inside


def states(cli: Cli) -> dict[str, bool]:
    return {worker["host"]: worker["quiet"] for worker in cli("workers", "--json").document}


def test_all_hosts_are_quiet_until_they_are_resumed(hosts: Cli) -> None:
    assert (
        hosts("quiet", "--reason", "the bank\x1b moves").out == "all hosts are quiet: 2 workers claim no more tasks\n"
    )
    assert hosts("quiet").out == "all hosts are quiet already: 2 workers claim no more tasks\n"
    assert states(hosts) == {HERE: True, "other": True}
    assert hosts("resume").out == "all hosts are resumed: 2 workers claim tasks\n"
    assert hosts("resume").out == "all hosts are not quiet: 2 workers claim tasks\n"
    assert states(hosts) == {HERE: False, "other": False}


def test_why_names_each_order_that_keeps_all_workers_from_claiming(hosts: Cli) -> None:
    hosts("submit", "x", "--task-id", "t")
    hosts("quiet", "--host", "this", "--reason", "repairs")
    assert "now: is the next in lane" in hosts("why", "t").out  # the other host claims
    hosts("quiet", "--host", "other", "--reason", "repairs")
    orders = sorted(hosts("why", "t", "--json").document["now"].split("; ")[1:])
    for host, order in zip(sorted((HERE, "other")), orders, strict=True):
        assert order.startswith(f"host {host} claims no task (repairs (ordered by ")
        assert order.endswith(f": supervisor resume --host {host}")
    hosts("control", "HALT")
    hosts("quiet")
    hosts("lanes", "pause", hosts("why", "t", "--json").document["service"]["lane"])
    first, *orders = hosts("why", "t", "--json").document["now"].split("; ")
    assert "is the first in lane" in first
    assert [each.rpartition(": ")[2] for each in orders[1:]] == ["supervisor resume", "supervisor control RESUME"]
    assert "): supervisor lanes resume" in orders[0]


def test_what_control_may_be_told_is_one_line(hosts: Cli) -> None:
    answer = hosts("control")
    assert answer.status == 2
    assert "Choose from: halt, resume (see" in answer.err


def test_an_empty_reason_is_none(hosts: Cli) -> None:
    hosts("quiet", "--reason", " ")
    hosts("quiet", "--host", "this")
    assert "still quiet: no host claims a task (ordered by " in hosts("resume", "--host", "this").err


def test_one_host_is_quiet_by_its_own_name(hosts: Cli) -> None:
    assert hosts("quiet", "--host", "this").out == f"host {HERE} is quiet: 1 worker claims no more tasks\n"
    assert states(hosts) == {HERE: True, "other": False}
    hosts("quiet", "--host", "other")
    answer = hosts("resume", "--host", "this")
    assert (answer.status, answer.out) == (0, f"host {HERE} is resumed: 1 worker claims tasks\n")
    assert "still quiet: host other claims no task" in answer.err
    assert "supervisor resume --host other" in answer.err


def test_a_halt_is_a_mark_of_its_own_and_what_remains_is_said(hosts: Cli) -> None:
    assert hosts("control", "HALT", "--json").document == {"host": None, "word": "halt", "changed": True, "workers": 2}
    assert hosts("control", "halt").out == (
        "all hosts are halted: 2 workers claim no more tasks; "
        "`work` and `dispatch` processes end after their running tasks\n"
    )
    hosts("quiet", "--host", "this")
    answer = hosts("resume")
    assert (answer.status, answer.out) == (0, "all hosts are not quiet: 0 workers claim tasks\n")
    assert f"still quiet: host {HERE} claims no task" in answer.err
    assert "still halted: no pool of any host claims a task or makes a fire" in answer.err
    assert answer.err.rstrip().endswith("; to resume: supervisor control RESUME")
    ended = hosts("control", "RESUME", "--json").document
    assert (ended["changed"], ended["workers"], [left["word"] for left in ended["quiet"]]) == (True, 1, ["quiet"])
    assert hosts("control", "RESUME").out == "all hosts are not halted: 1 worker claims tasks\n"
    assert hosts("resume", "--host", "this", "--json").document["quiet"] == []
    assert states(hosts) == {HERE: False, "other": False}


def test_a_halt_that_names_nobody_is_refused_and_nothing_is_written(hosts: Cli) -> None:
    for host, status, words in (
        ("", 2, "is not the name of a host"),
        ("othre", 1, "did you mean other?"),
    ):
        answer = hosts("control", "HALT", "--host", host)
        assert (answer.status, answer.out, words in answer.err) == (status, "", True), answer.err
    assert hosts("lanes", "list", "--json").document["quiet"] == []
    assert hosts("control", "HALT", "--host", "other").out.startswith(
        "host other is halted: 1 worker claims no more tasks"
    )
    assert states(hosts) == {HERE: False, "other": True}


def test_it_is_said_wherever_somebody_may_wonder(hosts: Cli) -> None:
    hosts("submit", "x", "--task-id", "t1")
    hosts("quiet", "--reason", "the bank moves")
    for command in (["workers"], ["lanes", "list"]):
        first = hosts(*command).out.splitlines()[0]
        assert first.startswith("QUIET for ")
        assert ": no host claims a task; " in first
        assert "; the bank moves (ordered by " in first
        assert first.count(f"@{HERE}") == 1, "its author is named once"
        assert first.endswith("to end it: supervisor resume")
    assert "no host claims a task (the bank moves (ordered by " in hosts("why", "t1").out
    assert "all hosts quiet for" in hosts("doctor").out
    (order,) = hosts("lanes", "list", "--json").document["quiet"]
    assert order["reason"] == f"the bank moves (ordered by {order['by']})"
    hosts("resume")
    hosts("control", "HALT")
    first = hosts("workers").out.splitlines()[0]
    assert first.startswith("HALTED for ")
    assert first.endswith(f"@{HERE}; to end it: supervisor control RESUME")
    assert "all hosts halted for" in hosts("doctor").out


@pytest.mark.parametrize("host", ["*", "", "a b", "a\x1bb", "x" * 256])
def test_what_is_no_host_is_refused(hosts: Cli, host: str) -> None:
    answer = hosts("quiet", "--host", host)
    assert answer.status == 2
    assert "is not the name of a host; leave it out for all hosts" in answer.err
