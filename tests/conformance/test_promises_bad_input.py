"""Promise about bad input: every public call answers with a named error of ours, and nothing is written."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Submission
from holdfast.errors import (
    HoldfastError,
    InvalidTaskError,
    MessageConflictError,
    TaskEndedError,
    UnknownTaskError,
)
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio
LARGEST = 1_048_576  # bytes of a message, by default


class Hostile:
    """Not even its name can be had."""

    def __repr__(self) -> str:
        raise RuntimeError("no name")


def nested(depth: int) -> object:
    value: object = None
    for _ in range(depth):
        value = [value]
    return value


BAD_IDS = ["", " ", "a b", "a:b", "a/b", "x" * 129, "ü", "a\n", "\udc80", 5, None, b"t1", ["t1"], Hostile()]
BAD_BATCHES = [*BAD_IDS, "x" * 101]
BAD_LANES = [5, "", "a b", "a\n", "x" * 129, "\udc80", b"a", Hostile()]
BAD_LANES += [
    "{bindu:tasks}:due",
    "{other}:events",
    "{a}",
    "{a}:lane:",
    "{a}:lane:{b}",
    "a{b}c",
]  # keys of a queue's own
BAD_TEXTS = [5, b"x", ["x"], "\udc80", Hostile()]
BAD_NUMBERS = ["5", True, math.nan, math.inf, -1, 10**400, [1], Hostile()]
NOT_JSON = [b"x", {1, 2}, {1: 2}, {"a": object()}, math.nan, [math.inf], 2**64, -(2**63) - 1, "\udc80", 1j, Hostile()]
NOT_JSON += [nested(101), {"\udc80": 1}, datetime.now(UTC)]

# call → arguments that it must refuse, as keywords.
BAD_WANTED: list[dict[str, object]] = [
    *({"state": bad} for bad in ["lost", "", 5, b"working", Hostile()]),
    *({"lane": bad} for bad in BAD_LANES),
    *({"name": bad} for bad in [5, "", "x" * 201, "\udc80"]),
    *({"older_than": bad} for bad in BAD_NUMBERS),
    *({"newer_than": bad} for bad in BAD_NUMBERS),
    *({"limit": bad} for bad in [0, -1, 10_001, 1.5, "3", True, None, Hostile()]),
    *({"cursor": bad} for bad in [5, None, "nonsense", "ü", "x" * 2000, "w6Q="]),
    *({"batch": bad} for bad in BAD_BATCHES if bad is not None),
    *({"owner": bad} for bad in [5, "", "a b", "x\n", "x" * 129, "\udc80", Hostile()]),
    *({"newest_first": bad} for bad in [5, "yes", None]),
]

REFUSED: dict[str, list[dict[str, Any]]] = {
    "run_task": [
        {},
        {"kwargs": {"a": 1}},
        {"data": 1, "name": "report"},
        *({"text": bad} for bad in BAD_TEXTS),
        *({"data": bad} for bad in NOT_JSON),
        *({"name": bad} for bad in [*BAD_TEXTS, "", "x" * 201]),
        *({"name": "report", "kwargs": bad} for bad in [5, "x", [1], {"a": object()}, {1: 2}]),
        *({"text": "x", "task_id": bad} for bad in BAD_IDS if bad is not None),
        *({"text": "x", "context_id": bad} for bad in [5, "", "x" * 1001, "\udc80"]),
        *({"text": "x", "message_id": bad} for bad in [5, "", "x" * 1001, "\udc80"]),
        *({"text": "x", "lane": bad} for bad in BAD_LANES),
        *({"text": "x", "delay": bad} for bad in [*BAD_NUMBERS, 1e12]),
        *({"text": "x", "timeout": bad} for bad in [*BAD_NUMBERS, 0, 1e12]),
        *({"text": "x", "max_attempts": bad} for bad in [0, -1, 1001, 1.5, "3", True, Hostile()]),
        *({"text": "x", "at": bad} for bad in [*BAD_NUMBERS, 1e15, "tomorrow", Hostile()]),
        {"text": "x", "at": datetime(2030, 1, 1)},  # noqa: DTZ001 - without a zone, that is the point
        {"text": "x", "at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
        {"text": "x", "at": datetime(1969, 12, 31, tzinfo=UTC)},
        {"text": "x", "delay": 1, "at": 1},
        *({"text": "x", "metadata": bad} for bad in [5, "x", {"a": object()}, {1: 2}]),
        *({"text": "x", what: bad} for what in ("key", "unique") for bad in [5, "", "x" * 1001, "\udc80"]),
        *({"text": "x", "after": bad} for bad in [5, "t1", [5], ["a b"], Hostile()]),
        {"text": "x", "after": ["waits"], "if_parent_fails": "perhaps"},
        {"text": "x", "after": ["waits"], "if_parent_fails": []},
        *({"text": "x", "expires": bad} for bad in [*BAD_NUMBERS, "tomorrow", datetime(2030, 1, 1)]),  # noqa: DTZ001
        *({"text": "x", "delay": 5, "debounce": bad} for bad in [5, "", Hostile()]),
        *({"text": "x", "unique": "u", "unique_for": bad} for bad in [*BAD_NUMBERS, 0]),
        {"text": "x" * LARGEST},
        {"data": ["x" * 1000] * 1100},
    ],
    "run_tasks": [
        *({"specs": bad} for bad in [5, None, "x", TaskSpec(text="x"), Hostile()]),
        {"specs": ["x"]},
        {"specs": [{"text": "x"}]},
        {"specs": [TaskSpec(text="good"), TaskSpec()]},
        {"specs": [TaskSpec(text="good")] * 150 + [TaskSpec(text="x", delay=-1)]},
        *({"specs": [TaskSpec(text="x")], "batch": bad} for bad in BAD_BATCHES if bad is not None),
        *({"specs": [TaskSpec(text="x")], "batch": "b", "then": bad} for bad in [5, "x", TaskSpec(), Hostile()]),
        {"specs": [TaskSpec(text="x")], "then": TaskSpec(text="x")},
        {"specs": [], "batch": "b"},
        {"specs": [TaskSpec(text="x", task_id="t")] * 2, "batch": "b"},
        {"specs": [TaskSpec(text="x", task_id="b.then")], "batch": "b", "then": TaskSpec(text="x")},
        {"specs": [TaskSpec(text="x", unique="u")], "batch": "b"},
        {"specs": [TaskSpec(text="x")], "batch": "b", "then": TaskSpec(text="x", unique="u")},
        {"specs": [TaskSpec(text="x"), TaskSpec(text="x", delay=-1)], "batch": "b"},
    ],
    "batch": [{"batch_id": bad} for bad in BAD_BATCHES],
    "batches": [
        *({"limit": bad} for bad in [0, -1, 10_001, 1.5, "3", True, None, Hostile()]),
        *({"cursor": bad} for bad in [5, None, "nonsense", "-1", "9" * 99]),
    ],
    "run_flow": [{"flow": bad} for bad in [5, None, "x", TaskSpec(text="x"), [TaskSpec(text="x")], Hostile()]],
    "prepare": [{"spec": bad} for bad in [5, None, {"text": "x"}, TaskSpec(), Hostile()]],
    "submit": [{"batch": bad} for bad in [5, None, "x", ["x"], [TaskSpec(text="x")], Hostile()]],
    "resume_task": [
        *({"task_id": bad} for bad in BAD_IDS),
        *({"task_id": "waits", "text": bad} for bad in BAD_TEXTS),
        *({"task_id": "waits", "data": bad} for bad in NOT_JSON),
        {"task_id": "waits", "message_id": "m"},
        {"task_id": "waits", "text": "x", "message_id": 5},
        {"task_id": "waits", "text": "x" * LARGEST},
        {"task_id": "waits", "reason": 5},
        {"task_id": "waits", "text": "x", "reason": 5},
    ],
    **{
        call: [*({"task_id": bad} for bad in BAD_IDS), *({"task_id": "waits", "reason": bad} for bad in BAD_TEXTS)]
        for call in ("cancel_task", "pause_task", "retry_task", "ask_retry")
    },
    "get_task": [{"task_id": bad} for bad in BAD_IDS],
    "progress": [{"task_id": bad} for bad in BAD_IDS],
    "wait": [
        *({"task_id": bad} for bad in BAD_IDS),
        *({"task_id": "waits", "timeout": bad} for bad in BAD_NUMBERS),
    ],
    "wait_all": [*({"task_ids": [bad]} for bad in BAD_IDS), *({"task_ids": bad} for bad in [5, None, "waits"])],
    "list_tasks": BAD_WANTED,
    "search_tasks": [
        *({"text": bad} for bad in [5, None, "", b"x", "x" * 201, "\udc80"]),
        *({"text": "x"} | bad for bad in BAD_WANTED),
    ],
    "dead_letters": [
        *({"limit": bad} for bad in [0, "3", None]),
        *({"cursor": bad} for bad in [5, None, "nonsense", "-1", "9" * 99]),
        *({"before_ms": bad} for bad in [-1, "5", 1.5, 10**400, True]),
    ],
    "purge_dead_letters": [
        *({"task_ids": [bad]} for bad in BAD_IDS),
        *({"task_ids": bad} for bad in [5, None, "waits"]),
    ],
    "service": [
        *({"lane": bad} for bad in BAD_LANES),
        *({"lane": "x", "name": bad} for bad in [5, None, "x" * 201, "\udc80", Hostile()]),
    ],
    "queue_length": [{"lane": bad} for bad in BAD_LANES],
    "clear_queue": [
        *({"lane": bad} for bad in BAD_LANES),
        *({"delayed": bad} for bad in [1, "no", None]),
        {"on_step": 5},
    ],
    "pause_queue": [*({"lane": bad} for bad in BAD_LANES), *({"reason": bad} for bad in BAD_TEXTS)],
    "resume_queue": [{"lane": bad} for bad in BAD_LANES],
    "remove_task": [{"task_id": bad} for bad in BAD_IDS],
    "clean_tasks": [
        *({"older_than": bad} for bad in [*BAD_NUMBERS, None]),
        *({"lane": bad} for bad in BAD_LANES),
        *({"name": bad} for bad in [5, "", "x" * 201, "\udc80"]),
        *({"limit": bad} for bad in [0, -1, 10_001, 1.5, "3", True, Hostile()]),
        {"on_step": "5"},
    ],
    "why": [{"task_id": bad} for bad in BAD_IDS],
    "stream": [
        *({"task_id": bad} for bad in BAD_IDS),
        *({"task_id": "t", "after": bad} for bad in [-1, 1.5, "1", None, True, 1 << 60, Hostile()]),
    ],
    "events": [
        *({"task_id": bad} for bad in BAD_IDS if bad is not None),
        *({"since": bad} for bad in ["", "now", "5", b"1-0", -1, True, float("nan"), Hostile()]),
        *({"kinds": bad} for bad in [5, None, "claimed", ["nonsense"], [5], [Hostile()]]),
    ],
    "obliterate_queue": [*({"force": bad} for bad in [1, "no", None, Hostile()]), {"on_step": Hostile()}],
}
UNREFUSABLE = {
    "count_tasks",
    "health_check",
    "lanes",
    "schedules",
    "workers",
}  # arguments by position alone, none, and no call


def test_every_public_call_is_here() -> None:
    public = {name for name in dir(TaskManager) if not name.startswith("_")}
    assert public - {"record", "find"} == REFUSED.keys() | UNREFUSABLE  # these two are for commands and pages


@pytest.fixture
async def manager(stand: Stand) -> TaskManager:
    """With a task that waits, one that has ended, one that is parked."""
    made = TaskManager(stand.store, queue=stand.queue)
    await made.run_task("x", task_id="ended")
    await made.cancel_task("ended")
    await made.run_task("x", task_id="parked")
    await made.pause_task("parked")
    await made.run_task("x", task_id="waits", message_id="m1")
    return made


async def outcome(manager: TaskManager, call: str, arguments: dict[str, Any]) -> None:
    answer = getattr(manager, call)(**arguments)
    if hasattr(answer, "__await__"):
        await answer


@pytest.mark.parametrize("call", REFUSED)
async def test_bad_input_is_a_named_error_and_nothing_is_written(stand: Stand, manager: TaskManager, call: str) -> None:
    before = await stand.store.snapshot()
    for arguments in REFUSED[call]:
        with pytest.raises(InvalidTaskError) as refused:
            await outcome(manager, call, arguments)
        message = str(refused.value)
        assert message, arguments
        assert "\n" not in message
        assert len(message) < 500
        assert message.isascii()
    assert await stand.store.snapshot() == before


@pytest.mark.parametrize("states", [("lost",), (5,), (b"working",), (None,)])
async def test_unknown_states_are_not_counted(manager: TaskManager, states: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidTaskError, match="state"):
        await manager.count_tasks(*states)


async def test_unknown_ids_are_named_and_nothing_is_written(stand: Stand, manager: TaskManager) -> None:
    before = await stand.store.snapshot()
    for call in (manager.get_task, manager.wait, manager.pause_task, manager.resume_task, manager.retry_task):
        with pytest.raises(UnknownTaskError, match="no task nobody"):
            await call("nobody")
    with pytest.raises(UnknownTaskError, match="no task nobody"):
        await manager.resume_task("nobody", "an answer")
    with pytest.raises(UnknownTaskError, match="no task nobody"):
        await anext(manager.wait_all(["waits", "nobody"]))
    assert await manager.purge_dead_letters(["nobody", "waits"]) == 0
    assert await stand.store.snapshot() == before


async def test_a_known_id_with_other_content_is_named_and_nothing_is_written(
    stand: Stand, manager: TaskManager
) -> None:
    before = await stand.store.snapshot()
    with pytest.raises(MessageConflictError, match="m1 of task waits was sent before with other content"):
        await manager.run_task("y", task_id="waits", message_id="m1")
    with pytest.raises(MessageConflictError, match="m1 of task waits"):
        await manager.resume_task("waits", "y", message_id="m1")
    for text in ("y", "z"):
        with pytest.raises(TaskEndedError, match="task ended has ended"):
            await manager.run_task(text, task_id="ended")
    with pytest.raises(TaskEndedError, match="task ended has ended"):
        await manager.resume_task("ended", "y")
    assert await stand.store.snapshot() == before


async def test_the_largest_message_can_be_chosen(stand: Stand) -> None:
    small = TaskManager(stand.store, queue=stand.queue, max_message_bytes=1_000)
    with pytest.raises(InvalidTaskError, match="at most 1000 are allowed"):
        await small.run_task("x" * 1_000)
    await small.run_task("x" * 500)
    large = TaskManager(stand.store, queue=stand.queue, max_message_bytes=4 * LARGEST)
    await large.run_task("x" * LARGEST)
    assert await large.count_tasks() == 2


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=5)
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.dictionaries(st.sampled_from(TaskSpec.__struct_fields__), ANYTHING, max_size=2)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(given=FIELDS)
def test_whatever_is_given_is_prepared_or_refused(given: dict[str, Any]) -> None:
    manager = TaskManager(None, queue="q")  # type: ignore[arg-type]  # preparing asks no store
    try:
        prepared = manager.prepare(TaskSpec(**{"text": "x", **given}))
    except HoldfastError:
        return
    assert isinstance(prepared, Submission)
    assert len(prepared.operation) <= LARGEST
