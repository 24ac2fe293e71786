"""The task as its handler sees it, and the notes that its worker reads."""

from __future__ import annotations

import math
from typing import Any

import pytest
import structlog

from holdfast.core.envelope import build_parts
from holdfast.handler.returned_value import NotJsonError
from holdfast.handler.task import Task
from tests.envelopes import build_run
from tests.handler.deliveries import delivery_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_task_tells_what_its_delivery_says() -> None:
    parts = build_parts("hello", name="bill", kwargs={"region": "eu"})
    operation = build_run("t-1", parts, context_id="c-1", metadata={"a": 1}, trace_id=TRACE, span_id=SPAN).operation
    task = Task(delivery_of(operation=operation, turn=2, delivery=4, attempts=1))
    assert (task.id, task.context_id, task.turn, task.delivery, task.attempts) == ("t-1", "c-1", 2, 4, 1)
    assert (task.name, task.metadata, task.trace_id, task.span_id) == ("bill", {"a": 1}, TRACE, SPAN)
    assert (task.deadline, task.cancelled, task.unreadable, task.last_checkpoint) == (None, False, "", None)


def test_the_idempotency_key_is_the_turns() -> None:
    keys = [
        Task(delivery_of(turn=turn, delivery=delivery)).idempotency_key for turn, delivery in ((1, 1), (1, 2), (2, 1))
    ]
    assert keys[0] == keys[1] != keys[2]


def test_a_task_without_context_is_its_own() -> None:
    assert Task(delivery_of(operation=b'{"operation":"run","params":{"task_id":"t-1"}}')).context_id == "t-1"


def test_a_checkpoint_is_told_until_it_is_stored() -> None:
    task = Task(delivery_of())
    assert task.notes.unstored_checkpoint is None
    data = {"page": 1}
    task.checkpoint(data)
    data["page"] = 99
    assert task.last_checkpoint == {"page": 1}
    told = task.notes.unstored_checkpoint
    assert told == task.notes.unstored_checkpoint == b'{"page":1}'
    task.notes.stored(told)
    assert task.notes.unstored_checkpoint is None
    assert task.notes.checkpoint == b'{"page":1}'


def test_a_checkpoint_made_while_an_earlier_one_travels_is_told_as_well() -> None:
    task = Task(delivery_of())
    task.checkpoint({"page": 1})
    told = task.notes.unstored_checkpoint
    assert told
    task.checkpoint({"page": 2})
    task.notes.stored(told)
    assert task.notes.unstored_checkpoint == b'{"page":2}'


def test_the_last_checkpoint_of_an_earlier_delivery_is_there() -> None:
    task = Task(delivery_of(checkpoint=b'{"page":3}'))
    assert task.last_checkpoint == {"page": 3}
    assert task.notes.unstored_checkpoint is None
    task.checkpoint(None)
    assert task.last_checkpoint is None
    assert task.notes.unstored_checkpoint == b"null"


@pytest.mark.parametrize("data", [object(), math.nan, "x" * 2000, "\ud800"])
def test_a_checkpoint_that_cannot_be_kept_is_refused(data: object) -> None:
    task = Task(delivery_of(), max_bytes=1000)
    with pytest.raises(NotJsonError):
        task.checkpoint(data)
    assert task.notes.checkpoint is None


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        ((3, 10), "3/10"),
        ((3,), "3"),
        ((0.5, 1.0), "0.5/1"),
        ((3, 10, "rows"), "3/10 rows"),
        ((10**90,), str(10**15)),
    ],
)
def test_progress_is_one_short_text(steps: tuple[Any, ...], shown: str) -> None:
    task = Task(delivery_of())
    task.progress(*steps)
    assert task.notes.progress == shown


def test_the_logger_names_the_task() -> None:
    task = Task(delivery_of(turn=2))
    with structlog.testing.capture_logs() as logs:
        task.logger.info("counted", words=3)
    assert logs[0]["event"] == "counted"
    assert (logs[0]["task"], logs[0]["turn"], logs[0]["words"]) == ("t-1", 2, 3)
