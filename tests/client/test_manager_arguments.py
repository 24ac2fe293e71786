"""The arguments of a producer: every one is checked before anything is written."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, use_span

from holdfast.client.submission import submission
from holdfast.client.task_spec import TaskSpec
from holdfast.core.envelope import Run, read
from holdfast.errors import InvalidTaskError

QUEUE = "bindu:tasks"
LIMIT = 1048576
CYCLE: list[Any] = []
CYCLE.append(CYCLE)


class Unhashable(type):
    __hash__ = None  # type: ignore[assignment]


class Strange(metaclass=Unhashable):
    def __repr__(self) -> str:
        return "it"


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "nothing to run"),
        ({"text": 5}, "text 5: text expected"),
        ({"text": "\ud800"}, "not Unicode text"),
        ({"data": 1, "name": "n"}, "data and name exclude each other"),
        ({"text": "x", "kwargs": {}}, "kwargs need name"),
        ({"name": "n", "kwargs": [1]}, "kwargs [1]: names with values expected"),
        ({"text": "x", "metadata": "m"}, "metadata 'm'"),
        ({"data": math.nan}, "data nan: JSON has no such number"),
        ({"data": Strange()}, "data it: JSON has no Strange"),
        ({"data": {"a": [1, math.inf]}}, "data.a.1 inf"),
        ({"data": {1: 2}}, "data 1: JSON allows only text as a key"),
        ({"data": {"a": b"x"}}, "data.a b'x': JSON has no bytes"),
        ({"data": datetime.now(UTC)}, "JSON has no datetime"),
        ({"data": {"a": {"\ud800": 1}}}, "not Unicode text"),
        ({"data": 2**64}, "up to 64 bits"),
        ({"data": deep(101)}, "nested deeper than 100"),
        ({"data": CYCLE}, "nested deeper than 100"),
        ({"name": "n", "kwargs": {"x": math.nan}}, "kwargs.x nan"),
        ({"text": "x", "metadata": {"x": object()}}, "JSON has no object"),
        ({"text": "x", "task_id": "a b"}, "task_id 'a b'"),
        ({"text": "x", "task_id": ""}, "task_id ''"),
        ({"text": "x", "task_id": "a" * 129}, "1 to 128"),
        ({"text": "x", "task_id": 7}, "task_id 7"),
        ({"text": "x", "context_id": ""}, "context_id ''"),
        ({"text": "x", "message_id": 7}, "message_id 7"),
        ({"text": "x", "lane": "a b"}, "lane 'a b'"),
        ({"text": "x", "lane": "a\n"}, "lane 'a\\n'"),
        ({"text": "x", "lane": ""}, "lane ''"),
        ({"text": "x", "delay": -0.1}, "delay -0.1"),
        ({"text": "x", "delay": math.nan}, "delay nan"),
        ({"text": "x", "delay": math.inf}, "delay inf"),
        ({"text": "x", "delay": 1e12}, "delay 1000000000000.0"),
        ({"text": "x", "delay": True}, "delay True"),
        ({"text": "x", "delay": "5"}, "delay '5'"),
        ({"text": "x", "delay": 1, "at": 1}, "delay and at exclude each other"),
        ({"text": "x", "at": datetime(2030, 1, 1)}, "no time zone"),  # noqa: DTZ001 - that is the point
        ({"text": "x", "at": 1893456000000}, "Unix seconds"),
        ({"text": "x", "at": -1}, "at -1"),
        ({"text": "x", "at": datetime(1, 1, 1, tzinfo=UTC)}, "1970 to 9999"),
        ({"text": "x", "timeout": 0}, "timeout 0"),
        ({"text": "x", "max_attempts": 0}, "max_attempts 0"),
        ({"text": "x", "max_attempts": 1.0}, "max_attempts 1.0"),
        ({"text": "x", "max_attempts": True}, "max_attempts True"),
        ({"text": "x" * LIMIT}, f"at most {LIMIT} are allowed"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_accepted_is_named(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidTaskError) as refused:
        submission(TaskSpec(**given), QUEUE, LIMIT)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "given",
    [
        {"text": ""},
        {"text": "x", "data": [1, 2.5, None, True, {"ä": "\u202e"}]},
        {"data": deep(99)},
        {"data": 2**64 - 1},
        {"data": (1, 2)},
        {"name": "n"},
        {"text": "x", "at": 0},
        {"text": "x", "at": datetime(2030, 1, 1, tzinfo=UTC)},
        {"text": "x", "delay": 0, "timeout": 0.001, "max_attempts": 1000},
        {"text": "x", "lane": "bindu:tasks:high", "message_id": "anything ✓", "context_id": "c d"},
    ],
    ids=repr,
)
def test_what_can_be_accepted_can_be_read_by_a_worker(given: dict[str, Any]) -> None:
    one = submission(TaskSpec(**given), QUEUE, LIMIT)
    operation = read(one.operation, LIMIT)
    assert isinstance(operation, Run)
    assert (operation.task_id, operation.message_id) == (one.task_id, one.message_id)


def test_times_become_milliseconds() -> None:
    one = submission(TaskSpec(text="x", delay=0.0015, timeout=1.5), QUEUE, LIMIT)
    assert (one.delay_ms, one.due_ms, one.timeout_ms) == (2, None, 1500)
    assert submission(TaskSpec(text="x", at=1.5), QUEUE, LIMIT).due_ms == 1500
    assert submission(TaskSpec(text="x", timeout=0.0001), QUEUE, LIMIT).timeout_ms == 1  # 0 would mean none


def test_the_queue_is_the_lane_of_who_names_none() -> None:
    assert submission(TaskSpec(text="x"), QUEUE, LIMIT).lane == QUEUE
    assert submission(TaskSpec(text="x", lane="high"), QUEUE, LIMIT).lane == "high"


def test_the_same_call_is_the_same_message_and_another_is_not() -> None:
    first, again, other = (submission(TaskSpec(text=t, task_id="t"), QUEUE, LIMIT) for t in ("x", "x", "y"))
    assert (first.message_id, first.digest) == (again.message_id, again.digest)
    assert first.message_id != other.message_id


def test_two_calls_without_a_task_id_are_two_tasks() -> None:
    first, second = (submission(TaskSpec(text="x"), QUEUE, LIMIT) for _ in range(2))
    assert first.task_id != second.task_id


def test_the_span_of_the_producer_travels_with_the_task() -> None:
    context = SpanContext(0xABC, 0xDEF, is_remote=False)
    with use_span(NonRecordingSpan(context)):
        one = submission(TaskSpec(text="x", task_id="t"), QUEUE, LIMIT)
    operation = read(one.operation, LIMIT)
    assert isinstance(operation, Run)
    assert (operation.trace_id, operation.span_id) == (f"{0xABC:032x}", f"{0xDEF:016x}")
    assert one.digest == submission(TaskSpec(text="x", task_id="t"), QUEUE, LIMIT).digest
