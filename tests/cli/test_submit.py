"""`supervisor submit` against a real store, which nobody works on."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import redis

from holdfastd.cli.main import run
from holdfastd.operations.act import operator_name
from tests.cli.commands import NOBODY, Cli, clean
from tests.forked import SUPERVISOR


def operations(cli: Cli, limit: int = 1000) -> list[Any]:
    """The entries that wait."""
    return cli("queue", "peek", "--limit", str(limit), "--json").lines


def waiting(cli: Cli) -> int:
    _, url, _, queue = cli.options
    with redis.Redis.from_url(url) as client:
        return int(client.llen(queue))


def parts(entry: Any) -> Any:
    return entry["params"]["message"]["parts"]


def test_each_text_is_a_task_and_its_id_is_printed(cli: Cli) -> None:
    answer = cli("submit", "hello world", "again")
    assert answer.status == 0
    entries = operations(cli)
    assert [entry["params"]["task_id"] for entry in entries] == answer.out.split()
    assert [parts(entry)[0]["text"] for entry in entries] == ["hello world", "again"]


def test_json_prints_a_document_a_line(cli: Cli) -> None:
    assert [line.keys() for line in cli("submit", "a", "b", "--json").lines] == [{"task_id"}, {"task_id"}]


def test_data_and_named_calls_travel_as_data_parts(cli: Cli) -> None:
    cli("submit", "--data", '{"n": [1, null]}')
    cli("submit", "--name", "billing.send", "--data", '{"region": "eu"}')
    cli("submit", "--name", "billing.send")
    assert [parts(entry)[0]["data"] for entry in operations(cli)] == [
        {"n": [1, None]},
        {"name": "billing.send", "kwargs": {"region": "eu"}},
        {"name": "billing.send", "kwargs": {}},
    ]


def test_options_are_kept_with_the_task(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "t-1", "--lane", "high", "--delay", "1h")
    record = cli("tasks", "show", "t-1", "--json").document
    assert (record["state"], record["lane"]) == ("delayed", "high")
    assert record["due"] > record["created"]


@pytest.mark.parametrize("at", ["2001-01-01T00:00:00Z", "978307200", "978307200.5"])
def test_a_time_that_has_passed_means_now(cli: Cli, at: str) -> None:
    cli("submit", "x", "--at", at)
    assert len(operations(cli)) == 1


def test_the_same_id_and_content_is_one_task(cli: Cli) -> None:
    first, second = (cli("submit", "x", "--task-id", "t-1") for _ in range(2))
    assert (first.out, second.out) == ("t-1\n", "t-1\n")
    assert len(operations(cli)) == 1


def test_the_same_words_with_another_message_id_are_said_once_more(cli: Cli) -> None:
    for message in ("m-1", "m-2", "m-2"):
        assert cli("submit", "yes", "--task-id", "t-1", "--message-id", message).out == "t-1\n"
    record = cli("tasks", "show", "t-1", "--json").document
    assert [record["operation"]["params"]["message"]["message_id"], record["pending"]] == ["m-1", 1]


def test_more_for_a_task_that_has_ended_is_refused(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "t-1")
    cli("tasks", "cancel", "t-1")
    answer = cli("submit", "y", "--task-id", "t-1")
    assert (answer.status, answer.out) == (1, "")
    assert "t-1 has ended" in answer.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "nothing to submit"),
        (["x", "--lines", "-"], "exclude each other"),
        (["x", "y", "--task-id", "t"], "--task-id names one task"),
        (["--lines", "-", "--task-id", "t"], "--task-id names one task"),
        (["x", "y", "--key", "k"], "--key names one task"),
        (["x", "--again"], "--again is for the lines of a file"),
        (["--lines", "-", "--again", "--key", "k"], "--again and --key exclude each other"),
        (["--data", "{"], "is not JSON"),
        (["--name", "n", "--data", "[1]"], "must be a JSON object"),
        (["x", "--delay", "soon"], "is not a duration"),
        (["x", "--delay", "-5"], "delay -5.0: seconds from 0"),
        (["x", "--delay", "5", "--at", "5"], "--delay and --at exclude each other"),
        (["x", "--key", "k", "--task-id", "t"], "--key and --task-id exclude each other"),
        (["x", "--debounce", "k"], "--debounce needs --delay"),
        (["x", "--if-parent-fails", "run"], "--if-parent-fails needs --after"),
        (["x", "--unique-for", "5"], "--unique-for needs --unique"),
        (["x", "--at", "tomorrow"], "is not a time"),
        (["x", "--at", "2030-01-01T00:00:00"], "no time zone"),
        (["x", "--at", "1900000000000"], "Unix seconds"),
        (["x", "--timeout", "0"], "timeout 0.0"),
        (["x", "--max-attempts", "0"], "max_attempts 0"),
        (["x", "--task-id", "a b"], "task_id 'a b'"),
        (["x", "--lane", "a b"], "lane 'a b'"),
    ],
    ids=str,
)
def test_bad_arguments_exit_2_and_write_nothing(
    cli: Cli, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    status = run(["submit", *arguments, *cli.options])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert text in err
    assert waiting(cli) == 0


def test_an_empty_text_is_a_task(cli: Cli) -> None:
    assert cli("submit", "").status == 0
    assert waiting(cli) == 1


def test_a_text_that_is_not_unicode_is_refused(cli: Cli) -> None:
    command = [SUPERVISOR, "submit", b"caf\xe9", *cli.options]
    done = subprocess.run(command, capture_output=True, text=True, env=clean({}))
    assert done.returncode == 2
    assert "is not UTF-8" in done.stderr


def test_an_oversized_message_is_refused(cli: Cli) -> None:
    answer = Cli(cli.folder, cli.options, {"HOLDFAST_MAX_MESSAGE_BYTES": "1000"})("submit", "x" * 1000)
    assert answer.status == 2
    assert "at most 1000" in answer.err


def test_lines_become_tasks_in_their_order_without_blank_ones(cli: Cli) -> None:
    answer = cli("submit", "--lines", "-", stdin="eins\r\n\n  \nzwei ä\ndrei".encode())
    assert answer.status == 0
    assert "3 tasks accepted" in answer.err
    assert [parts(entry)[0]["text"] for entry in operations(cli)] == ["eins", "zwei ä", "drei"]


def test_lines_of_a_file_use_the_options_given(cli: Cli) -> None:
    path = cli.folder / "lines"
    path.write_text("a\nb\n")
    ids = cli("submit", "--lines", str(path), "--delay", "1h").out.split()
    assert {cli("tasks", "show", task_id, "--json").document["state"] for task_id in ids} == {"delayed"}


def test_objects_become_tasks_and_options_fill_what_they_leave_out(cli: Cli) -> None:
    lines = [{"text": "a", "task_id": "a", "lane": "low"}, {"name": "n", "kwargs": {"x": 1}, "task_id": "b"}]
    answer = cli("submit", "--jsonl", "-", "--lane", "high", stdin="\n".join(map(json.dumps, lines)).encode())
    assert answer.out.split() == ["a", "b"]
    assert cli("tasks", "show", "a", "--json").document["lane"] == "low"
    assert cli("tasks", "show", "b", "--json").document["lane"] == "high"


def test_a_name_fills_lines_without_one_and_a_line_that_names_another_handler_is_refused(cli: Cli) -> None:
    lines = [{"kwargs": {"x": 1}, "task_id": "a"}, {"name": "n", "task_id": "b"}]
    answer = cli("submit", "--jsonl", "-", "--name", "n", stdin="\n".join(map(json.dumps, lines)).encode())
    assert answer.out.split() == ["a", "b"]
    assert [cli("tasks", "show", task, "--json").document["name"] for task in "ab"] == ["n", "n"]
    refused = cli("submit", "--jsonl", "-", "--name", "n", stdin=b'{"name": "n"}\n{"name": "other"}\n')
    assert refused.status == 1
    assert refused.err == "supervisor: line 2: name: 'other', but --name is 'n': omit one of them; 0 tasks accepted\n"


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (b'{"txet": "a"}', "txet: not possible here; did you mean text?"),
        (b'{"name": "n", "args": {"x": 1}}', "args: not possible here; did you mean kwargs?"),
        (b'{"name": "n", "handler": "n"}', "handler: not possible here; did you mean name?"),
        (b'{"zzz": 1}', "zzz: not possible here; possible are text, data, name, kwargs, "),
        (b'{"text": "a", "delay": "5m"}', "delay: Expected `float | null`, got `str`"),
        (b"[1]", "Expected `object`"),
        (b"{", "truncated"),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b'{"text": 1}', "Expected `str | null`"),
        (b"{}", "nothing to run"),
        (b'{"text": "a", "delay": -1}', "delay -1"),
        (b'{"data": ' + b"[" * 5000 + b"]" * 5000 + b"}", "line 2"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_line_is_named_and_nothing_of_its_chunk_is_accepted(
    cli: Cli, capsys: pytest.CaptureFixture[str], bad: bytes, text: str
) -> None:
    path = cli.folder / "lines"
    path.write_bytes(b'{"text": "good"}\n' + bad + b'\n{"text": "good"}\n')
    status = run(["submit", "--jsonl", str(path), *cli.options])
    out, err = capsys.readouterr()
    assert (status, out) == (1, "")
    assert err.startswith("supervisor: line 2: ")
    assert text in err
    assert "0 tasks accepted" in err
    assert waiting(cli) == 0


def test_a_line_without_end_is_refused_before_it_fills_the_memory(cli: Cli) -> None:
    answer = cli("submit", "--lines", "/dev/zero")
    assert answer.status == 1
    assert answer.err.startswith("supervisor: line 1: longer than 1048576 bytes")


def test_what_came_before_a_bad_chunk_is_accepted_and_reported(cli: Cli) -> None:
    with subprocess.Popen(
        [SUPERVISOR, "submit", "--lines", "-", *cli.options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean({}),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"good\n\n")
        process.stdin.flush()
        task_id = process.stdout.readline().decode().strip()  # it is accepted before the input ends
        _, err = process.communicate(b"\xff\n")
    assert process.returncode == 1
    assert err.decode() == NOBODY + "supervisor: line 3: not UTF-8; 1 task accepted, up to line 1\n"
    assert [entry["params"]["task_id"] for entry in operations(cli)] == [task_id]


def test_an_interrupted_submit_exits_130(cli: Cli) -> None:
    with subprocess.Popen(
        [SUPERVISOR, "submit", "--lines", "-", *cli.options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean({}),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(2)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == b"supervisor: interrupted"


def test_a_long_input_is_never_held_as_a_whole(cli: Cli) -> None:
    program = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
    )

    def peak(lines: int) -> int:
        path = cli.folder / str(lines)
        path.write_text(("word " * 50 + "\n") * lines)
        command = ["python3", "-c", program, str(SUPERVISOR), "submit", "--lines", str(path), *cli.options]
        return int(subprocess.run(command, capture_output=True, check=True, env=clean({})).stdout)

    assert peak(20_000) < peak(200) + 20_000  # KiB; the file alone has 5,000 KiB, its tasks many times that


def test_a_family_on_the_command_line(cli: Cli) -> None:
    cli("submit", "p", "--task-id", "p")
    [child] = cli("submit", "c", "--after", "p", "--if-parent-fails", "run", "--expires", "1h").out.split()
    record = cli("tasks", "show", child, "--json").document
    assert (record["state"], record["waits_for"], record["if_parent_fails"]) == ("waiting", ["p"], "run")
    assert record["expires"] > record["created"]
    lines = cli("why", child).out.splitlines()
    assert "waits for 1 task to end" in lines[2]
    assert lines[-3] == "parents: p has not ended (submitted)"
    assert lines[-2].startswith("now: waits until p (submitted) has ended; it runs even if one does not complete")
    story = cli("why", child, "--json").document
    assert (story["state"], story["waits_for"]) == ("waiting", ["p"])
    assert f"{child} " in cli("tasks", "list", "--state", "waiting").out
    assert [event["event"] for event in cli("events", "--json").lines][-2:] == ["accepted", "waits"]
    parent = {"task_id": "p", "state": "submitted", "has_ended": False, "reason": "", "bytes": 0}
    assert story["parents"] == record["parents"] == [parent]
    cli("tasks", "cancel", "p", "--reason", "not wanted")
    canceled = f"p canceled: not wanted (canceled by {operator_name()})"
    assert f"parents: {canceled}" in cli("why", child).out.splitlines()
    assert f"parents      {canceled}" in cli("tasks", "show", child).out.splitlines()
    assert (
        cli("why", "p", "--json").document["parents"] == cli("tasks", "show", "p", "--json").document["parents"] == []
    )
    unknown = cli("submit", "c", "--after", "nobody")
    assert unknown.status == 1
    assert "task nobody, after which" in unknown.err


def test_one_task_a_key_on_the_command_line(cli: Cli) -> None:
    [first] = cli("submit", "x", "--unique", "k", "--unique-for", "1h").out.split()
    assert cli("submit", "y", "--unique", "k", "--json").lines == [{"task_id": first, "duplicate": True}]
    keyed = cli("submit", "x", "--key", "k").out
    assert cli("submit", "x", "--key", "k").out == keyed
    assert cli("submit", "x", "y", "--key", "k").status == 2
    [early] = cli("submit", "x", "--debounce", "k", "--delay", "1h").out.split()
    [late] = cli("submit", "y", "--debounce", "k", "--delay", "1h").out.split()
    assert cli("tasks", "show", early, "--json").document["reason"] == f"replaced by {late}"


def test_lines_may_have_options(cli: Cli) -> None:
    lines = '{"text": "p", "task_id": "p"}\n{"text": "c", "task_id": "c", "after": ["p"], "expires": 60}\n'
    assert cli("submit", "--jsonl", "-", stdin=lines.encode()).status == 0
    assert cli("tasks", "show", "c", "--json").document["state"] == "waiting"


def test_a_wait_with_a_limit_ends_and_its_tasks_go_on(cli: Cli) -> None:
    answer = cli("submit", "x", "y", "--wait", "--wait-timeout", "0.2")
    ids = [entry["params"]["task_id"] for entry in operations(cli)]
    assert (answer.status, answer.out, len(ids)) == (75, "", 2)
    [line] = [line for line in answer.err.splitlines() if "--wait-timeout" in line]
    assert line.startswith("supervisor: no result within --wait-timeout of 2 tasks, which go on; to see more: ")
    assert all(each in line for each in ids)
    words = line.partition("to see more: supervisor ")[2].partition(" (")[0].split()
    assert cli(*words, "--json").document["state"] == "submitted"


def test_results_that_come_in_time_are_printed_and_a_failure_counts_most(cli: Cli) -> None:
    cli("submit", "x", "--task-id", "gone")
    cli("tasks", "cancel", "gone")
    given = b'{"text": "x", "task_id": "gone"}\n{"text": "y", "task_id": "waits"}\n'
    answer = cli("submit", "--jsonl", "-", "--wait", "--wait-timeout", "4", stdin=given)
    assert [(line["task_id"], line["state"]) for line in answer.lines] == [("gone", "canceled")]
    assert answer.lines[0].keys() >= {"task_id", "state", "result", "error", "reason", "attempts"}
    assert answer.status == 1
    assert "of 1 task, which goes on; to see more: supervisor tasks show waits" in answer.err


def test_a_limit_of_the_wait_needs_the_wait(cli: Cli) -> None:
    answer = cli("submit", "x", "--wait-timeout", "5s")
    assert (answer.status, "--wait-timeout needs --wait" in answer.err, waiting(cli)) == (2, True, 0)
