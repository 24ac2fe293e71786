"""`supervisor tasks remove`, `tasks clean`, `queue clear --delayed`, `queue obliterate` against a real store."""

from __future__ import annotations

from tests.cli.commands import Cli
from tests.cli.stores import give_up


def ids(cli: Cli) -> list[str]:
    return sorted(task["task_id"] for task in cli("tasks", "list", "--json").lines)


def test_ended_tasks_are_removed_and_others_are_named(inside: Cli) -> None:
    give_up(inside, "t1")
    inside("submit", "x", "--task-id", "t2")
    answer = inside("tasks", "remove", "t1", "t2", "t3")
    assert (answer.status, answer.out) == (1, "t1 removed\n")
    assert "task t2 is submitted and cannot be removed: cancel it first" in answer.err
    assert "no task t3" in answer.err
    assert inside("tasks", "remove", "t1", "--json").lines[0]["removed"] is False
    assert ids(inside) == ["t2"]


def test_what_has_ended_is_cleaned_away_by_state(inside: Cli) -> None:
    give_up(inside, "t1", "t2")
    inside("submit", "x", "--task-id", "t3")
    inside("tasks", "cancel", "t3")
    assert inside("tasks", "clean").status == 2
    assert inside("tasks", "clean", "--older", "1d", "--yes").out == "0 removed\n"
    assert inside("tasks", "clean", "--state", "canceled", "--yes").out == "1 removed\n"
    assert inside("tasks", "clean", "--limit", "1", "--yes", "--json").document == {"removed": 1}
    assert len(ids(inside)) == 1
    assert inside("tasks", "clean", "--state", "working", "--yes").status == 2


def test_a_queue_is_cleared_of_what_is_due_later_too(inside: Cli) -> None:
    inside("submit", "x", "--task-id", "t1", "--delay", "1h")
    assert inside("queue", "clear", "--yes").out == "0 cleared\n"
    assert inside("queue", "clear", "--delayed", "--yes").out == "1 cleared\n"


def test_an_obliterated_queue_is_gone(inside: Cli) -> None:
    inside("submit", "x", "--task-id", "t1")
    refused = inside("queue", "obliterate")
    assert (refused.status, "add --yes" in refused.err) == (2, True)
    assert ids(inside) == ["t1"]
    assert inside("queue", "obliterate", "--yes").out.endswith(" keys deleted\n")
    assert ids(inside) == []
    again = inside("queue", "obliterate", "--yes", "--json").document
    assert again == {"deleted": 1}, "the note in Activity, of who has deleted it"
