"""Makes one document of the facts about a task, and rows of its history. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import KEPT, TrailStep
from holdfast.why import history
from holdfast.why.next_commands import commands
from holdfast.why.outlook import TaskSnapshot, outlook
from holdfast.why.parent_words import parent_documents
from holdfast.why.task_spans import TaskSpan
from holdfast.why.task_times import TaskTimes, task_times
from holdfast.why.times import moment, span


class TimelineRow(NamedTuple):
    """A line of the history: its time, the time since the line before, a sentence, the name of the event."""

    at_ms: int
    since: str
    text: str
    event: str


def rows(snapshot: TaskSnapshot, known: history.TaskHistory) -> list[TimelineRow]:
    """The history of the task, the oldest first."""
    task = snapshot.task
    found = [TimelineRow(task.created_ms, "", history.beginning(task), "accepted")]
    before = task.created_ms
    for step in snapshot.steps:
        found.append(TimelineRow(step.at_ms, f"+{span(step.at_ms - before)}", history.words(step, known), step.event))
        before = step.at_ms
    if not _is_complete(task):
        text = f"steps before this one are not kept: only the last {KEPT} are"
        found.insert(1, TimelineRow(task.created_ms, "", text, "forgotten"))
    return found


def times(snapshot: TaskSnapshot) -> TaskTimes:
    """The time that the task has waited and run so far."""
    return task_times(snapshot.task.state, snapshot.task.created_ms, snapshot.steps, snapshot.now_ms)


def document(snapshot: TaskSnapshot, known: history.TaskHistory, spans: Sequence[TaskSpan]) -> dict[str, Any]:
    """The document, made of JSON values."""
    task = snapshot.task
    steps: tuple[TrailStep | None, ...] = (None, *snapshot.steps)
    shown = [row for row in rows(snapshot, known) if row.event != "forgotten"]
    return {
        "task_id": task.task_id,
        "state": str(task.state),
        "now": outlook(snapshot),
        "commands": list(commands(task)),
        "times": asdict(times(snapshot)),
        "spans": [asdict(each) for each in spans],
        "complete": _is_complete(task),
        "place": asdict(snapshot.place) if snapshot.place else None,
        "service": asdict(snapshot.service) if snapshot.service else None,
        "due": moment(task.due_ms),
        "waits_for": list(task.waits_for),
        "parents": parent_documents(snapshot.after),
        "batch": task.batch or None,
        "expires": moment(task.expires_ms),
        "retry_of": task.retry_of,
        "retried_as": task.retried_as,
        "refused": task.refused,
        "duplicate_of": task.duplicate_of,
        "timeline": [_entry(row, step, known) for row, step in zip(shown, steps, strict=True)],
    }


def _is_complete(task: TaskRecord) -> bool:
    return len(task.trail) < KEPT


def _entry(row: TimelineRow, step: TrailStep | None, known: history.TaskHistory) -> dict[str, Any]:
    worker = known.workers.get(step.incarnation) if step else None
    return {
        "at": moment(row.at_ms),
        "at_ms": row.at_ms,
        "event": row.event,
        "text": row.text,
        "incarnation": step.incarnation if step else "",
        "worker": {"host": worker.host, "slot": worker.slot, "pid": worker.pid} if worker else None,
        "reason": step.reason if step else "",
    }
