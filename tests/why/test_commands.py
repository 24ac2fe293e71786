"""The last line of `supervisor why`: each command that it names does what it says, in every state of a task."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.core import identity
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.task_states import State
from holdfast.core.trail import read_step
from holdfast.core.worker_records import Introduction
from holdfast.store.redis import RedisStore
from holdfast.why.document import COMMANDS, TimesDocument, commands, task_times
from holdfast.why.task_spans import TraceSettings, task_spans
from tests.cli.commands import Answer, Cli
from tests.cli.stores import give_up, with_store
from tests.why.test_story import TASK

SETTLED = {
    State.COMPLETED: Settle.COMPLETED,
    State.FAILED: Settle.FAILED,
    State.REJECTED: Settle.REJECTED,
    State.INPUT_REQUIRED: Settle.INPUT_REQUIRED,
    State.AUTH_REQUIRED: Settle.AUTH_REQUIRED,
}


def claimed(cli: Cli, kind: Settle | None) -> None:
    """All that waits is claimed by a worker, and settled so unless `kind` is None."""
    queue, incarnation = cli.options[3], uuid4().hex

    async def work(store: RedisStore) -> None:
        await store.register(Introduction(incarnation, "host", "boot", 1, 0))
        pulled = await store.pull(incarnation, 1, 1000, [queue], [])
        if kind is not None:
            done = [Settlement(each.task_id, each.claim, kind) for each in pulled.deliveries]
            await store.pull(incarnation, 2, 0, [queue], done)

    with_store(cli, work)


def test_a_task_that_sleeps_is_not_offered_to_run_now() -> None:
    """It would sleep on until the same time."""
    delayed = replace(TASK, state=State.DELAYED, trail=("1 claimed 1:a:1", "2 retry 1:a:1 why", "2 delayed 9"))
    asleep = replace(delayed, trail=("1 claimed 1:a:1", "2 sleep 1:a:1 ", "2 delayed 9"))
    assert [line.split()[2] for line in commands(delayed)] == ["retry", "pause", "cancel"]
    assert [line.split()[2] for line in commands(asleep)] == ["pause", "cancel"]


def ask(cli: Cli, *words: str) -> Answer:
    """The options of `cli` stand before `--`."""
    at = words.index("--") if "--" in words else len(words)
    return replace(cli, options=())(*words[:at], *cli.options, *words[at:])


def brought(cli: Cli, task_id: str, state: State) -> None:
    """A new task in this state."""
    options = {State.DELAYED: ("--delay", "1h")}.get(state, ())
    if state is State.WAITING:
        assert cli("submit", "x", "--task-id", f"parent-of-{task_id}").status == 0
        options = ("--after", f"parent-of-{task_id}")
    assert cli("submit", "x", f"--task-id={task_id}", *options).status == 0
    if state is State.WORKING or state in SETTLED:
        claimed(cli, SETTLED.get(state))
    elif state is State.SUSPENDED:
        assert ask(cli, "tasks", "pause", "--", task_id).status == 0
    elif state is State.CANCELED:
        assert ask(cli, "tasks", "cancel", "--", task_id).status == 0


def test_the_table_knows_every_state() -> None:
    assert COMMANDS.keys() == set(State)


@pytest.mark.parametrize(
    ("state", "number"), [(state, number) for state, forms in COMMANDS.items() for number in range(len(forms))]
)
def test_each_command_of_the_last_line_succeeds(inside: Cli, state: State, number: int) -> None:
    task_id = f"{'-' * number}{state}"  # an id may begin like an option
    brought(inside, task_id, state)
    story = ask(inside, "why", "--json", "--", task_id).document
    assert story["state"] == state
    lines = ask(inside, "why", "--", task_id).out.splitlines()
    assert lines[-1] == f"you can: {'; '.join(story['commands'])}"
    program, *words = shlex.split(story["commands"][number])
    assert program == "supervisor"
    answer = ask(inside, *words)
    assert (answer.status, answer.err) == (0, ""), words
    assert task_id in words


def test_a_task_that_runs_again_names_its_next_run(inside: Cli) -> None:
    give_up(inside, "a")
    assert "supervisor tasks retry a" in inside("why", "a", "--json").document["commands"]
    inside("tasks", "retry", "a")
    assert inside("why", "a", "--json").document["commands"] == [
        "supervisor tasks show a", "supervisor why a.r1", "supervisor tasks remove a"
    ]  # fmt: skip


CLAIM = "1:w:1"


def times(waited_ms: int, ran_ms: int, runs: int) -> TimesDocument:
    return {"waited_ms": waited_ms, "ran_ms": ran_ms, "runs": runs}


HISTORIES: list[tuple[State, list[str], TimesDocument]] = [
    (State.SUBMITTED, [], times(900, 0, 0)),
    (State.WORKING, [f"300 claimed {CLAIM}"], times(200, 700, 1)),
    (State.COMPLETED, [f"300 claimed {CLAIM}", f"350 settled completed 1 {CLAIM} "], times(200, 50, 1)),
    (
        State.SUBMITTED,
        [f"200 claimed {CLAIM}", f"250 retry {CLAIM} x", "250 delayed 500", "500 promoted "],
        times(100 + 500, 50, 1),
    ),
    (State.DELAYED, ["100 delayed 5000"], times(0, 0, 0)),
    (State.WAITING, ["100 waits 1"], times(0, 0, 0)),
    (State.SUBMITTED, ["100 waits 1", "700 ready "], times(300, 0, 0)),
    (
        State.WORKING,
        [f"200 claimed {CLAIM}", f"400 crashed 1 exit 3 {CLAIM}", "600 claimed 2:v:1"],
        times(100 + 200, 200 + 400, 2),
    ),
    (State.SUSPENDED, [f"200 claimed {CLAIM}", f"400 suspended {CLAIM} pause"], times(100, 200, 1)),
    (
        State.COMPLETED,
        ["100 suspended wait", "600 resumed x", f"700 claimed {CLAIM}", f"900 settled completed 1 {CLAIM} "],
        times(100, 200, 1),
    ),
    (State.CANCELED, ["400 canceled x"], times(300, 0, 0)),
    (
        State.WORKING,  # it waited 600 ms for a person, and 50 ms for a worker
        [
            *(f"200 claimed {CLAIM}", f"250 settled input-required 1 {CLAIM} ", "251 step 1 q", "850 message m2"),
            *("900 claimed 2:w:2", "901 step 2 a"),
        ],
        times(100 + 50, 50 + 100, 2),
    ),
    (
        State.SUSPENDED,
        [f"200 claimed {CLAIM}", "250 pause-asked x", f"300 suspended {CLAIM} x", "400 joined 2 m2"],
        times(100, 100, 1),
    ),
]


@pytest.mark.parametrize(("state", "trail", "expected"), HISTORIES)
def test_waits_and_runs_come_from_the_trail(state: State, trail: list[str], expected: TimesDocument) -> None:
    steps = [read_step(line) for line in trail]
    assert task_times(state, 100, steps, 1000) == expected


def test_spans_of_deliveries_are_named_where_traces_are_looked_at(inside: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    brought(inside, "a", State.COMPLETED)
    assert inside("why", "a", "--json").document["spans"] == []
    assert "trace: " not in inside("why", "a").out
    monkeypatch.setenv("HOLDFAST_TRACE_URL", "http://jaeger:16686/trace/{trace_id}?uiFind={span_id}")
    [span] = inside("why", "a", "--json").document["spans"]
    trace_id, span_id = identity.trace_id("a"), identity.span_id("a", 1)
    assert (span["trace_id"], span["span_id"], span["delivery"]) == (trace_id, span_id, 1)
    lines = inside("why", "a").out.splitlines()
    assert f"trace: {trace_id}; spans: {span_id} (delivery 1)" in lines
    assert f"link: http://jaeger:16686/trace/{trace_id}?uiFind={span_id}" in lines
    assert lines[-1].startswith("you can: ")


@pytest.mark.parametrize(
    ("mode", "operation", "trace_id"),
    [
        ("parent", {"trace_id": "1" * 32}, "1" * 32),
        ("link", {"trace_id": "1" * 32}, identity.trace_id("t")),
        ("parent", {}, identity.trace_id("t")),
        ("parent", {"trace_id": "0" * 32}, identity.trace_id("t")),
        ("parent", {"trace_id": ["\x1b[31m"]}, identity.trace_id("t")),
        ("parent", 5, identity.trace_id("t")),
    ],
)
def test_in_the_mode_parent_the_trace_is_the_producers(mode: str, operation: object, trace_id: str) -> None:
    task = replace(TASK, task_id="t", operation=json.dumps(operation).encode())
    [span] = task_spans(task, [read_step(f"5 claimed {CLAIM}")], TraceSettings(True, mode, None))
    assert (span["trace_id"], span["url"]) == (trace_id, "")
