"""Commands take the beginning of a task's id, and never act on another task than the one that is meant."""

from __future__ import annotations

import json

import pytest

from holdfastd.cli.common import task_id as search
from tests.cli.commands import Inside

ONE = "6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d"
TWINS = ("aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002")
ORDER = "order-17"


@pytest.fixture
def filled(inside: Inside) -> Inside:
    for task_id in (ONE, *TWINS, ORDER):
        assert inside("submit", "x", "--task-id", task_id).status == 0
    return inside


def states(cli: Inside) -> dict[str, str]:
    return {task["task_id"]: task["state"] for task in cli("tasks", "list", "--json").lines}


@pytest.mark.parametrize("word", [ONE, "6f1c2f0e", "6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9", "6f1c...", "6f1c…"])
@pytest.mark.parametrize("verb", ["cancel", "pause"])
def test_a_beginning_that_fits_one_task_is_that_task_and_is_printed_whole(filled: Inside, verb: str, word: str) -> None:
    answer = filled("tasks", verb, word)
    assert (answer.status, answer.out.split()[0]) == (0, ONE)
    assert (f"{word} is task {ONE}\n" in answer.err) is (word != ONE)
    assert [task_id for task_id, state in states(filled).items() if state != "submitted"] == [ONE]


@pytest.mark.parametrize("command", ["tasks show", "why", "tasks cancel", "tasks retry", "tasks remove", "dead remove"])
def test_a_beginning_that_fits_several_tasks_names_them_and_changes_nothing(filled: Inside, command: str) -> None:
    before = states(filled)
    confirmed = ["--yes"] if command == "dead remove" else []
    more = [] if command in {"tasks show", "why"} else [ONE]
    answer = filled(*command.split(), *more, "aaaaaaaa", *confirmed)
    assert (answer.status, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert f"aaaaaaaa fits more than one task: {TWINS[0]}, {TWINS[1]}; give more of the id" in answer.err
    assert states(filled) == before


def test_a_word_that_may_be_an_id_is_no_beginning_for_a_change(filled: Inside) -> None:
    """Such a task may have been removed, or is yet to be submitted."""
    filled("submit", "x", "--task-id", f"66666666{ONE[8:]}")
    for word in ("order-1", "order", "6f1c2f0", "66666666"):
        assert filled("tasks", "cancel", word).out == f"{word} unknown\n"
    assert set(states(filled).values()) == {"submitted"}
    assert filled("tasks", "cancel", "order-1...").out == f"{ORDER} canceled\n"


@pytest.mark.parametrize("word", ["order", "order-1", "6f1", "o"])
def test_commands_that_only_read_take_any_beginning(filled: Inside, word: str) -> None:
    task_id = ORDER if word.startswith("o") else ONE
    assert filled("tasks", "show", word, "--json").document["task_id"] == task_id
    assert filled("why", word, "--json").document["task_id"] == task_id


def test_an_id_that_is_the_beginning_of_others_is_itself(filled: Inside) -> None:
    for task_id in ("order-1", "aaaaaaaa", "order..."):
        filled("submit", "x", "--task-id", task_id)
        assert filled("tasks", "show", task_id, "--json").document["task_id"] == task_id
        assert filled("tasks", "cancel", task_id).out == f"{task_id} canceled\n"
    assert states(filled)[ORDER] == "submitted"


def test_events_are_those_of_the_task_that_is_meant(filled: Inside) -> None:
    found = filled("events", "--task", "6f1c2f0e", "--json")
    assert {event["id"] for event in found.lines} == {ONE}
    assert filled("events", "--task", "order-1", "--json").lines == []  # it may be yet to come


@pytest.mark.parametrize("word", ["nothing...", "nothing…", "…"])
@pytest.mark.parametrize("command", ["tasks show", "tasks cancel", "tasks remove"])
def test_a_beginning_of_no_task_is_an_error(filled: Inside, command: str, word: str) -> None:
    answer = filled(*command.split(), word)
    assert (answer.status, answer.out) == (1, "")
    assert f"supervisor: {word}: no task has an id with this beginning\n" == answer.err


def test_the_search_is_bounded(filled: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PAGE", 1)
    monkeypatch.setattr(search, "MOST_PAGES", 1)
    answer = filled("tasks", "cancel", "6f1c2f0e")
    assert answer.status == 1
    assert "too many to search for the rest of this id" in answer.err
    assert states(filled)[ONE] == "submitted"


def test_of_many_only_some_are_named(inside: Inside) -> None:
    lines = "\n".join(json.dumps({"task_id": f"line-{n}", "text": "x"}) for n in range(40))
    assert inside("submit", "--jsonl", "-", stdin=lines.encode()).status == 0
    answer = inside("tasks", "show", "line")
    assert "and more; give more of the id" in answer.err
    assert answer.err.count("line-") == search.IDS_LISTED
