"""A command as a handler: what it is given, what its output and its exit status come to."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import structlog
from structlog.testing import capture_logs

from holdfast.core.envelope import build_parts
from holdfast.core.outcomes import Completed, Failed, InputAsked, Raised, Rejected
from holdfast.handler.command.process import LINE_BYTES, TAIL_BYTES
from holdfast.handler.task import Task
from tests.envelopes import build_run
from tests.handler.deliveries import delivery_of, document, run_handler
from tests.handler.programs import parts_of, program, run_shell, shell

pytestmark = pytest.mark.anyio

PYTHON = sys.executable


async def given_on_stdin(**fields: Any) -> Any:
    (told,) = await parts_of("cat", delivery_of("hello", **fields))
    return told


async def test_it_is_given_one_json_document_and_then_the_end_of_its_input() -> None:
    told = await given_on_stdin(delivery=3, attempts=1, checkpoint=b'{"line":7}')
    message = told.pop("messages")[-1]
    assert (message["role"], message["parts"]) == ("user", [{"kind": "text", "text": "hello"}])
    assert told == {
        "task_id": "t-1",
        "context_id": "c-1",
        "attempt": 2,
        "delivery": 3,
        "idempotency_key": "t-1:1",
        "deadline": None,
        "checkpoint": {"line": 7},
    }


async def test_its_deadline_is_told_in_unix_time() -> None:
    script = f"""{PYTHON} -c 'import json, sys, time; print(json.load(sys.stdin)["deadline"] - time.time())'"""
    (left,) = await parts_of(script, timeout=1000.0)
    assert 900 < left <= 1000


async def test_a_history_larger_than_a_pipe_reaches_it() -> None:
    (told,) = await parts_of("cat", delivery_of("x" * 400_000))
    assert len(told["messages"][0]["parts"][0]["text"]) == 400_000


@pytest.mark.parametrize("script", ["echo hello", "exec <&-; echo hello", "head -c 1 >/dev/null; echo hello"])
async def test_it_need_not_read_its_input(script: str) -> None:
    assert await parts_of(script, delivery_of("x" * 400_000)) == ["hello"]


async def test_its_environment_names_its_task() -> None:
    script = 'echo "$HOLDFAST_TASK_ID $HOLDFAST_ATTEMPT $HOLDFAST_IDEMPOTENCY_KEY"'
    assert await parts_of(script, delivery_of(attempts=2)) == ["t-1 3 t-1:1"]


async def test_it_inherits_the_environment_but_not_the_secrets_of_the_service() -> None:
    secrets = [
        "REDIS_URL", "REDIS_PASSWORD", "SCHEDULER__URL", "HOLDFAST_REDIS_URL", "HOLDFAST_REDIS_PASSWORD",
        "CREDENTIALS_DIRECTORY", "TRACEPARENT", "TRACESTATE", "PGPASSWORD", "OTEL_EXPORTER_OTLP_HEADERS",
    ]  # fmt: skip
    theirs = {"PATH": os.environ["PATH"], "MY_PASSWORD": "theirs", "HOLDFAST_WORKERS": "8"}
    handler = program("env", environ=theirs | dict.fromkeys(secrets, "secret"))
    text = document(await run_handler(handler))["parts"][0]["text"]
    told = dict(line.split("=", 1) for line in text.splitlines())
    assert not told.keys() & set(secrets)
    assert theirs.items() <= told.items()


async def test_its_traces_have_the_span_of_its_delivery_as_their_parent_else_that_of_its_producer() -> None:
    built = build_run("t-1", build_parts("hello"), trace_id="a" * 32, span_id="b" * 16)
    delivery = delivery_of(operation=built.operation)
    assert await parts_of('echo "$TRACEPARENT"', delivery) == [f"00-{'a' * 32}-{'b' * 16}-01"]
    task = Task(delivery)
    task.span = SimpleNamespace(traceparent=f"00-{'a' * 32}-{'c' * 16}-00")
    assert await parts_of('echo "$TRACEPARENT"', delivery, task=task) == [task.traceparent]
    assert await parts_of('echo "-$TRACEPARENT"') == ["-"]


async def test_it_has_three_descriptors_and_a_session_of_its_own() -> None:
    script = (
        f'{PYTHON} -S -c \'import json, os, signal; fds = sorted(os.listdir(chr(47) + "proc/self/fd"));'
        "print(json.dumps([fds[:3], len(fds), os.getsid(0) == os.getpid(), "
        "sorted(map(int, signal.pthread_sigmask(0, ())))]))'"
    )
    # The fourth is that of the listing.
    (told,) = await parts_of(f"exec {script}")
    assert told == [["0", "1", "2"], 4, True, []]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('{"words": 3}', [{"words": 3}]),
        ("[1, 2]\n", [[1, 2]]),
        ("42\n", [42]),
        ("true", [True]),
        ('"a\\nb"', ["a\nb"]),
        ("null", []),
        ("", []),
        ("\n", []),
        ("hello\nworld\n\n", ["hello\nworld"]),
        ('{"words": 3', ['{"words": 3']),
        ("1 2", ["1 2"]),
        ("NaN", ["NaN"]),
        ("[" * 5000, ["[" * 5000]),
        (" indented", [" indented"]),
    ],
)
async def test_its_output_is_its_result_json_as_json_and_else_text(said: str, kept: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_text(said)
    assert await parts_of(f"cat {file}") == kept


async def test_bytes_that_are_no_text_are_marked_in_the_result() -> None:
    assert await parts_of(r"printf 'a\377b'") == ["a\ufffdb"]


async def test_its_output_may_choose_the_state() -> None:
    asked = await run_shell("""echo '{"state": "input-required", "prompt": "which one?"}'""")
    assert isinstance(asked, InputAsked)
    assert document(asked)["parts"][0]["text"] == "which one?"
    assert isinstance(await run_shell("""echo '{"state": "failed", "error": "no such region"}'"""), Failed)


async def test_what_the_output_may_be_long_is_bounded_and_more_ends_it() -> None:
    delivery = delivery_of()
    enough = await run_handler(shell("head -c 100000 /dev/zero | tr '\\0' x"), delivery, task=Task(delivery, 100_200))
    assert isinstance(enough, Completed)
    outcome = await run_shell("exec yes", delivery, task=Task(delivery, 100_000))
    assert isinstance(outcome, Raised)
    assert outcome.final
    assert outcome.failure.type == "ResultError"
    assert "more than 100000 bytes to its standard output" in outcome.failure.message


@pytest.mark.parametrize("status", [64, 65, 66, 77, 78])
async def test_a_status_that_means_never_again_rejects_with_the_last_line_of_stderr(status: int) -> None:
    outcome = await run_shell(f"echo first >&2; echo no such region >&2; echo >&2; exit {status}")
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "no such region"
    error = document(outcome)["error"]
    assert (error["type"], error["traceback"]) == ("Reject", "first\nno such region\n\n")


async def test_a_status_that_means_never_again_explains_itself_where_nothing_was_said() -> None:
    outcome = await run_shell("exit 65")
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "exit status 65, bad data"


async def test_status_75_asks_for_a_retry_and_what_was_written_is_the_checkpoint() -> None:
    delivery = delivery_of(checkpoint=b'{"line":1}')
    task = Task(delivery)
    outcome = await run_shell("""echo '{"line": 20}'; echo busy >&2; exit 75""", delivery, task=task)
    assert isinstance(outcome, Raised)
    assert not outcome.final
    assert (outcome.failure.type, outcome.failure.message) == ("Retry", "the command asked for a retry: busy")
    assert task.notes.checkpoint == b'{"line":20}'


async def test_status_75_without_output_leaves_the_checkpoint() -> None:
    delivery = delivery_of(checkpoint=b'{"line":1}')
    task = Task(delivery)
    await run_shell("exit 75", delivery, task=task)
    assert task.notes.checkpoint is None
    assert task.last_checkpoint == {"line": 1}


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("exit 1", "ExitStatus", "exit status 1"),
        ("echo lost; echo no disk >&2; exit 3", "ExitStatus", "exit status 3: no disk"),
        ("exit 127", "ExitStatus", "exit status 127"),
        ("kill -SEGV $$", "Signal", "the command was ended by SIGSEGV"),
        ("echo why >&2; kill -KILL $$", "Signal", "the command was ended by SIGKILL: why"),
        ("kill -40 $$", "Signal", "the command was ended by signal 40"),
    ],
)
async def test_any_other_end_is_a_failure_that_is_retried_as_an_exception_is(
    script: str, kind: str, message: str
) -> None:
    outcome = await run_shell(script)
    assert isinstance(outcome, Raised)
    assert not outcome.final
    assert (outcome.failure.type, outcome.failure.message) == (kind, message)


async def test_a_command_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    handler = program(str(tool))
    tool.unlink()
    outcome = await run_handler(handler)
    assert isinstance(outcome, Raised)
    assert outcome.failure.type == "CannotStart"
    assert outcome.failure.message == f"{tool}: No such file or directory"


async def test_lines_of_stderr_are_logged_with_the_task_each_within_bounds() -> None:
    structlog.reset_defaults()
    with capture_logs() as lines:
        await run_shell(
            """printf 'one\\n\\ntwo'; printf 'one\\n\\n two ' >&2; head -c 5000 /dev/zero | tr '\\0' x >&2"""
        )
    said = [line for line in lines if line["event"] == "the command said"]
    assert [line["line"] for line in said] == ["one", f"two {'x' * (LINE_BYTES - 5)}"]
    assert {(line["task"], line["delivery"], line["log_level"]) for line in said} == {("t-1", 1, "info")}


async def test_the_end_of_stderr_is_kept_with_the_failure() -> None:
    outcome = await run_shell("seq 5000 >&2; exit 1")
    assert isinstance(outcome, Raised)
    kept = outcome.failure.traceback
    assert len(kept) == TAIL_BYTES
    assert kept.endswith("4999\n5000\n")


async def test_a_flood_on_stderr_keeps_no_other_task_waiting() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await run_shell("head -c 20000000 /dev/zero >&2")
        group.cancel_scope.cancel()
    assert turns > 100


async def test_a_named_call_reaches_it_in_the_message() -> None:
    built = build_run("t-1", build_parts(name="billing.send", kwargs={"region": "eu"}))
    (told,) = await parts_of("cat", delivery_of(operation=built.operation))
    assert told["messages"][0]["parts"][0]["data"] == {"name": "billing.send", "kwargs": {"region": "eu"}}
    assert json.dumps(told)
