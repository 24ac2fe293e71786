"""`tasks retry`, `dead` and `queue unreadable` against a real store."""

from __future__ import annotations

import pytest
from redis import Redis

from tests.cli.commands import Cli
from tests.cli.stores import give_up, give_up_waiting
from tests.cli.test_tasks import push


def letters(inside: Cli, *options: str) -> list[str]:
    return [task["task_id"] for task in inside("dead", "list", "--json", *options).lines]


def test_retry_runs_what_ended_as_a_new_task_once(inside: Cli) -> None:
    give_up(inside, "a")
    inside("submit", "x", "--task-id", "b")
    inside("tasks", "cancel", "b")
    first = inside("tasks", "retry", "a", "b")
    assert (first.status, first.out) == (0, "a runs again as a.r1\nb runs again as b.r1\n")
    assert inside("tasks", "retry", "a", "--json").lines == [{"task_id": "a", "answer": "again", "runs_as": "a.r1"}]
    assert inside("tasks", "count", "--json").document["submitted"] == 2
    assert letters(inside) == []
    assert "runs again as a.r1" in inside("why", "a").out
    assert "a retry of a" in inside("why", "a.r1").out


def test_retry_says_of_each_that_cannot_be_why(inside: Cli) -> None:
    inside("submit", "x", "--task-id", "waits")
    inside("submit", "x", "--task-id", "later", "--delay", "1h")
    answer = inside("tasks", "retry", "waits", "nobody", "later")
    assert (answer.status, answer.out) == (1, "later is due now\n")
    assert answer.err.splitlines() == [
        "supervisor: task waits cannot be retried: it waits to run already",
        "supervisor: no task nobody; a task that ended long ago is forgotten",
    ]
    assert inside("tasks", "retry", "a b").status == 2


def test_dead_letters_are_listed_by_name_and_age_and_shown(inside: Cli) -> None:
    give_up(inside, "a", "b")
    give_up(inside, "c", name="bill")
    assert set(letters(inside)) == {"a", "b", "c"}
    assert letters(inside, "--name", "bill") == ["c"]
    assert letters(inside, "--older", "1h") == []
    assert len(letters(inside, "--older", "0", "--limit", "2")) == 2
    assert "no good" in inside("dead", "list").out
    assert inside("dead", "show", "c", "--json").document["dead"] is True
    assert "exhausted" in inside("dead", "show", "c").out
    inside("tasks", "retry", "a")
    gone = inside("dead", "show", "a")
    assert gone.status == 1
    assert "runs again as a.r1" in gone.err


def test_a_list_of_that_name_beside_the_queue_is_left_alone(inside: Cli) -> None:
    """`<queue>:dlq` is a recipe of others: what failed is no entry of it, and what somebody keeps there stays."""
    options = dict(zip(inside.options[::2], inside.options[1::2], strict=True))
    beside = f"{options['--queue-name']}:dlq"
    with Redis.from_url(options["--redis-url"]) as client:
        try:
            client.rpush(beside, b"kept by somebody")
            give_up(inside, "a")
            assert letters(inside) == ["a"]
            assert inside("queue", "clear", "--yes").status == 0
            assert client.lrange(beside, 0, -1) == [b"kept by somebody"]
        finally:
            client.delete(beside)


def test_more_dead_letters_than_a_page_are_retried_and_deleted_whole(inside: Cli) -> None:
    ids = [f"t{number}" for number in range(230)]
    give_up(inside, *ids)
    assert len(letters(inside, "--limit", "1000")) == 230
    some = inside("dead", "retry", "--name", "nobody", "--yes")
    assert (some.status, some.err) == (
        0,
        "supervisor: no handler named 'nobody' is known; known: none\nsupervisor: 0 of 0 run again\n",
    )
    assert inside("dead", "remove", *ids[:3], "--yes").out == "3 deleted\n"
    again = inside("dead", "retry", "--all", "--yes")
    assert (again.status, again.err) == (0, "supervisor: 227 of 227 run again\n")
    assert inside("tasks", "count", "--json").document["submitted"] == 227
    give_up_waiting(inside)
    assert inside("dead", "remove", "--all", "--yes", "--json").document == {"purged": 227}
    assert letters(inside) == []


def test_a_filter_is_confirmed_before_dead_letters_are_changed(inside: Cli) -> None:
    give_up(inside, "one")
    for verb, why in (("retry", "retry of all dead letters"), ("remove", "deleting dead letters")):
        refused = inside("dead", verb, "--all")
        assert (refused.status, why in refused.err, "add --yes" in refused.err) == (2, True, True)
    assert len(letters(inside)) == 1
    assert inside("dead", "retry", "one").status == 0  # a named one needs no question


@pytest.mark.parametrize("verb", ["retry", "remove"])
def test_a_choice_of_dead_letters_must_be_made(inside: Cli, verb: str) -> None:
    for which in ((), ("a", "--all"), ("a", "--name", "x")):
        answer = inside("dead", verb, *which)
        assert answer.status == 2
        assert "name the dead letters" in answer.err


def test_deleting_dead_letters_wants_a_yes(inside: Cli) -> None:
    give_up(inside, "a")
    answer = inside("dead", "remove", "--all")
    assert answer.status == 2
    assert "--yes" in answer.err
    assert letters(inside) == ["a"]
    assert inside("dead", "remove", "nobody", "--yes").status == 1


def aside(inside: Cli, *entries: bytes) -> list[str]:
    """Addresses of entries that a worker has set aside, newest first."""
    push(inside, *entries)
    give_up_waiting(inside)
    return [entry["address"] for entry in inside("queue", "unreadable", "--json").lines]


def test_what_was_set_aside_is_shown_put_back_and_forgotten(inside: Cli) -> None:
    second, first = aside(inside, b"{bad", b'{"operation": "\x1b[31m"}')
    assert second in inside("queue", "unreadable").out
    shown = inside("queue", "unreadable", "show", first, "--json").document
    assert (shown["raw"], shown["reason"], shown["lane"]) == ("{bad", "not a JSON object", inside.options[3])
    assert "{bad" in inside("queue", "unreadable", "show", first).out
    assert "\x1b[31m" not in inside.on_terminal("queue", "unreadable", "show", second).out
    back = inside("queue", "unreadable", "retry", first, "1-nothing")
    assert (back.status, back.out) == (1, f"{first} is back in its lane\n")
    assert back.err == "supervisor: entry 1-nothing does not exist (any more)\n"
    gone = inside("queue", "unreadable", "retry", "1-nothing", "--json")
    assert (gone.status, gone.lines) == (1, [{"address": "1-nothing", "answer": "gone"}])
    assert inside("queue", "peek").out == "{bad\n"
    assert inside("queue", "unreadable", "remove", second, "--yes").out == "1 deleted\n"
    assert inside("queue", "unreadable", "--json").lines == []
    assert inside("queue", "unreadable", "show", second).status == 1


def test_all_that_was_set_aside_goes_back_in_order_or_is_forgotten(inside: Cli) -> None:
    aside(inside, b"{1", b"{2", b"{3")
    assert len(inside("queue", "unreadable", "retry", "--all", "--json").lines) == 3
    assert inside("queue", "peek").out == "{1\n{2\n{3\n"
    assert inside("queue", "unreadable", "remove", "--all").status == 2  # it wants a yes
    assert inside("queue", "unreadable", "remove", "--all", "--older", "1h", "--yes").out == "0 deleted\n"


@pytest.mark.parametrize("verb", ["retry", "remove"])
def test_a_choice_of_entries_must_be_made(inside: Cli, verb: str) -> None:
    for which in ((), ("1-a", "--all")):
        answer = inside("queue", "unreadable", verb, *which)
        assert answer.status == 2
        assert "name the entries by ADDRESS" in answer.err
