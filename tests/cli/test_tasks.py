"""`supervisor tasks`, `queue` and `workers` against a real store."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest
import redis

from holdfast.core.delivery import Settle
from holdfastd.cli import command_table
from holdfastd.cli.command_table import LazyCommand
from holdfastd.documents.task_list import USUAL_COLUMNS
from tests.cli.commands import Cli
from tests.cli.stores import give_up_waiting, settle_waiting


def push(cli: Cli, *entries: bytes) -> None:
    """As a foreign producer does it."""
    _, url, _, queue = cli.options
    with redis.Redis.from_url(url) as client:
        client.rpush(queue, *entries)


def test_list_shows_tasks_by_state_and_bounds_them(cli: Cli) -> None:
    cli("submit", "--lines", "-", stdin=b"x\n" * 250)
    later = cli("submit", "x", "--delay", "1h").out.strip()
    assert len(cli("tasks", "list", "--json").lines) == 100
    assert len(cli("tasks", "list", "--limit", "1000", "--json").lines) == 251
    assert [task["task_id"] for task in cli("tasks", "list", "--state", "delayed", "--json").lines] == [later]
    assert len(cli("tasks", "list", "--limit", "3").out.splitlines()) == 4


def test_a_list_has_arguments_in_brief_and_the_columns_that_are_asked_for(cli: Cli) -> None:
    arguments = '{"customer": 41, "api_key": "sk-hidden"}'
    assert cli("submit", "--name", "mail.send", "--data", arguments, "--task-id", "t").status == 0
    head, row = cli("tasks", "ls").out.splitlines()
    assert head.split() == [name.upper() for name in USUAL_COLUMNS]
    assert "mail.send  customer=41, api_key=***  submitted" in row
    chosen = cli("tasks", "list", "--columns", "task,crashes, arguments").out.splitlines()
    assert [line.split(maxsplit=2) for line in chosen] == [
        ["TASK", "CRASHES", "ARGUMENTS"],
        ["t", "0", "customer=41, api_key=***"],
    ]
    wrong = cli("tasks", "list", "--columns", "colour")
    assert (wrong.status, "the columns are task, handler, arguments" in wrong.err) == (2, True)


def test_show_has_handler_and_arguments_and_no_envelope(cli: Cli) -> None:
    arguments = '{"customer": 41, "api_key": "sk-hidden"}'
    cli("submit", "--name", "mail.send", "--data", arguments, "--task-id", "t")
    shown = cli("tasks", "show", "t").out
    assert 'handler      mail.send\narguments    {"customer": 41, "api_key": "***"}\n' in shown
    assert "operation" not in shown
    assert cli("tasks", "show", "t", "--json").document["operation"]["operation"] == "run"
    cli("submit", "two\nlines", "--task-id", "plain")
    assert "arguments    two\n" in cli("tasks", "show", "plain").out


def test_an_answer_has_its_own_line_and_the_arguments_stay(cli: Cli) -> None:
    cli("submit", "--name", "mail.send", "--data", '{"customer": 41}', "--task-id", "t")
    settle_waiting(cli, Settle.INPUT_REQUIRED)
    assert cli("tasks", "resume", "--text", "yes", "t").status == 0
    shown = cli("tasks", "show", "t").out
    assert 'handler      mail.send\narguments    {"customer": 41}\nanswer       yes\n' in shown
    (row,) = cli("tasks", "list", "--columns", "arguments").out.splitlines()[1:]
    assert row == "customer=41"


def test_ls_is_another_name_of_list_in_every_group() -> None:
    def groups(group: click.Group) -> Iterator[click.Group]:
        for command in group.commands.values():
            loaded = command.load() if isinstance(command, LazyCommand) else command
            if isinstance(loaded, click.Group):
                yield loaded
                yield from groups(loaded)

    listing = [each for each in groups(command_table.cli) if "list" in each.commands]
    assert len(listing) > 5
    for each in listing:
        assert each.get_command(click.Context(each), "ls") is each.commands["list"]
        assert "ls" not in each.commands


def test_list_refuses_an_unknown_state(cli: Cli) -> None:
    answer = cli("tasks", "list", "--state", "lost")
    assert answer.status == 2
    assert "input-required" in answer.err


def test_columns_are_aligned_in_a_pipe(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "a")
    cli("submit", "x", "--task-id", "a-long-one")
    head, first, second = cli("tasks", "list").out.splitlines()
    assert head.index("STATE") == first.index("submitted") == second.index("submitted")


def test_show_tells_all_as_document_and_as_text(cli: Cli) -> None:
    cli("submit", "hello", "--task-id", "t-1", "--delay", "1h")
    cli("tasks", "cancel", "t-1", "--reason", "no longer wanted")
    record = cli("tasks", "show", "t-1", "--json").document
    assert record["state"] == "canceled"
    assert record["operation"]["params"]["message"]["parts"][0]["text"] == "hello"
    assert "no longer wanted" in record["trail"][-1]
    text = cli("tasks", "show", "t-1").out
    assert "no longer wanted" in text
    assert "canceled" in text


def test_an_unknown_task_exits_1_and_a_bad_id_2(cli: Cli) -> None:
    assert cli("tasks", "show", "nobody").status == 1
    assert cli("tasks", "show", "a b").status == 2


def test_cancel_tells_the_state_of_each(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "a")
    answer = cli("tasks", "cancel", "a", "nobody")
    assert (answer.status, answer.out) == (1, "a canceled\nnobody unknown\n")
    assert cli("tasks", "cancel", "a", "--json").lines == [{"task_id": "a", "state": "canceled"}]


def test_count_counts_by_state(cli: Cli) -> None:
    cli("submit", "a", "b")
    cli("submit", "c", "--delay", "1h")
    counts = cli("tasks", "count", "--json").document
    assert (counts["submitted"], counts["delayed"], counts["working"]) == (2, 1, 0)
    assert "submitted" in cli("tasks", "count").out


def test_length_counts_lane_by_lane(cli: Cli) -> None:
    cli("submit", "a", "b")
    cli("submit", "c", "--lane", "high")
    push(cli, b"anything")
    queue = cli.options[-1]
    assert cli("queue", "length", "--json").document == {"length": 4, "lanes": {queue: 3, "high": 1}}


def test_peek_leaves_what_it_shows(cli: Cli) -> None:
    push(cli, b'{"operation": "run"}', b"\xff\x1b[31m")
    assert cli("queue", "peek").out == '{"operation": "run"}\n\\xff\\x1b[31m\n'
    assert cli("queue", "length", "--json").document["length"] == 2
    assert len(cli("queue", "peek", "--limit", "1").out.splitlines()) == 1


def test_clear_wants_a_yes_and_cancels_what_waits(cli: Cli) -> None:
    ids = cli("submit", "--lines", "-", stdin=b"x\n" * 250).out.split()
    refused = cli("queue", "clear")
    assert refused.status == 2
    assert "--yes" in refused.err
    assert cli("queue", "clear", "--yes").out == "250 cleared\n"
    assert cli("tasks", "show", ids[-1], "--json").document["state"] == "canceled"
    assert cli("queue", "clear", "--yes", "--json").document == {"cleared": 0}


def test_clear_of_a_lane_leaves_the_others(cli: Cli) -> None:
    cli("submit", "a")
    cli("submit", "b", "--lane", "high")
    cli("queue", "clear", "--lane", "high", "--yes")
    assert cli("queue", "length", "--json").document["length"] == 1


@pytest.mark.parametrize("command", [["queue", "unreadable"], ["workers"], ["tasks", "list"]])
def test_nothing_is_an_empty_list(cli: Cli, command: list[str]) -> None:
    assert cli(*command).status == 0
    assert cli(*command, "--json").out.strip() in ("", "[]")


def test_terminal_shows_untrusted_text_spelled_out(cli: Cli) -> None:
    cli("submit", json.loads('"\\u001b[31mred\\u202e"'), "--task-id", "t-1")
    cli("tasks", "cancel", "t-1", "--reason", "\x1b]0;title\x07")
    for command in (["tasks", "list"], ["tasks", "show", "t-1"], ["tasks", "show", "t-1", "--json"], ["queue", "peek"]):
        shown = cli.on_terminal(*command).out
        assert "\x1b[31m" not in shown
        assert "\x1b]" not in shown
        assert "\u202e" not in shown


def test_no_color_leaves_out_every_escape(cli: Cli) -> None:
    cli("submit", "x")
    assert "\x1b[" in cli.on_terminal("tasks", "list").out
    plain = Cli(cli.folder, cli.options, {"NO_COLOR": "1"})
    assert "\x1b[" not in plain.on_terminal("tasks", "list").out


def test_a_terminal_is_asked_before_clearing(cli: Cli) -> None:
    answer = cli.on_terminal("queue", "clear")  # its standard input is no terminal
    assert answer.status == 2


def test_list_takes_lane_name_and_age(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "plain")
    cli("submit", "--name", "report", "--lane", "slow", "--task-id", "named")
    cli("submit", "x", "--lane", "slow", "--task-id", "lane")

    def listed(*filters: str) -> list[str]:
        return [task["task_id"] for task in cli("tasks", "list", "--json", *filters).lines]

    assert listed("--lane", "slow") == ["named", "lane"]
    assert listed("--name", "report") == ["named"]
    assert listed("--newer", "1d", "--lane", "slow", "--state", "submitted") == ["named", "lane"]
    assert listed("--older", "1d") == []


def test_a_list_that_had_more_is_continued_by_its_cursor(cli: Cli) -> None:
    cli("submit", "--lines", "-", stdin=b"x\n" * 5)
    first = cli("tasks", "list", "--limit", "3", "--json")
    cursor = first.err.removeprefix("supervisor: there are more: --cursor ").strip()
    rest = cli("tasks", "list", "--limit", "3", "--cursor", cursor, "--json")
    assert (len(rest.lines), rest.err) == (2, "")
    assert len({task["task_id"] for task in [*first.lines, *rest.lines]}) == 5
    refused = cli("tasks", "list", "--cursor", "nonsense")
    assert (refused.status, "cursor 'nonsense'" in refused.err) == (2, True)


def test_pause_and_resume_tell_the_state_of_each(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "a")
    answer = cli("tasks", "pause", "a", "nobody", "--reason", "lunch")
    assert (answer.status, answer.out) == (1, "a suspended\nnobody unknown\n")
    assert cli("tasks", "show", "a", "--json").document["reason"].startswith("lunch (paused by ")
    assert cli("tasks", "resume", "a", "--json").lines == [{"task_id": "a", "state": "submitted"}]
    assert "resumed by " in cli("tasks", "show", "a", "--json").document["trail"][-1]
    assert cli("tasks", "resume", "nobody", "--text", "hello").out == "nobody unknown\n"


def test_resume_gives_a_message_and_refuses_what_has_ended(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "a")
    cli("tasks", "pause", "a")
    assert cli("tasks", "resume", "a", "--text", "on Friday").out == "a submitted\n"
    shown = cli("tasks", "show", "a", "--json").document
    assert (shown["turn"], shown["pending"]) == (2, 0)
    assert shown["operation"]["params"]["message"]["parts"] == [{"kind": "text", "text": "on Friday"}]
    cli("tasks", "cancel", "a")
    answer = cli("tasks", "resume", "a", "--text", "too late")
    assert (answer.status, answer.out) == (1, "")
    assert "task a has ended" in answer.err
    ended = cli("tasks", "resume", "a")
    assert (ended.status, ended.out) == (1, "")
    assert "task a has already ended: its state is canceled" in ended.err
    assert cli("tasks", "resume", "a", "--message-id", "m").status == 2


def test_a_message_that_was_taken_is_no_failure_whatever_became_of_its_task(cli: Cli) -> None:
    """A worker may have ended the task before its state is asked for."""
    cli("submit", "x", "--task-id", "a")
    cli("tasks", "pause", "a")
    cli("tasks", "resume", "a", "--text", "on Friday")
    give_up_waiting(cli)
    again = cli("tasks", "resume", "a", "--text", "on Friday")
    assert (again.status, again.out) == (0, "a failed\n")
    assert cli("tasks", "resume", "a").status == 1


def test_a_cancel_that_comes_early_is_kept(cli: Cli) -> None:
    assert cli("tasks", "cancel", "early").out == "early unknown\n"
    cli("submit", "x", "--task-id", "early")
    assert cli("tasks", "show", "early", "--json").document["state"] == "canceled"
