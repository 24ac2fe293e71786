"""Makes one document of the facts about a task, and rows of its history. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from holdfast.core.served import ServedLimits, ServedState
from holdfast.core.task_states import State
from holdfast.core.tasks import Place, TaskRecord
from holdfast.core.trail import KEPT, TrailStep
from holdfast.why import history
from holdfast.why.next_commands import commands
from holdfast.why.outlook import TaskSnapshot, outlook
from holdfast.why.parent_words import ParentDocument, parent_documents
from holdfast.why.task_spans import TaskSpan
from holdfast.why.task_times import TaskTimes, task_times
from holdfast.why.times import Moment, moment, span


class TimesDocument(TypedDict):
    """Milliseconds that a task has waited in lanes, ready to be claimed, and run; `runs`: the number of its claims."""

    waited_ms: int
    ran_ms: int
    runs: int


class SpanDocument(TypedDict):
    """The span of one delivery; `url` is empty without a template."""

    delivery: int
    trace_id: str
    span_id: str
    url: str


class PlaceDocument(TypedDict):
    """The number of entries before a task that waits, exact or at least; null while its entry is not in a lane."""

    before: int | None
    exact: bool


class LimitsDocument(TypedDict):
    """The strictest limits of the workers that could run a task; times in seconds."""

    max_attempts: int
    unknown_handler_timeout: float
    keep: float


class ServiceDocument(TypedDict):
    """The workers that could run a task: all that live, those that serve its lane, those of these that have its
    handler, and the first of them. `paused`: the reason why its lane starts nothing; `unserved_ms`: for how long no
    worker has had its handler."""

    lane: str
    name: str
    living: int
    in_lane: int
    able: int
    servers: list[str]
    paused: str | None
    unserved_ms: int | None
    limits: LimitsDocument | None


class HistoryWorker(TypedDict):
    host: str
    slot: int
    pid: int


class HistoryLine(TypedDict):
    """A step of a task's history. `incarnation` and `worker`: of the worker that made it, if one did."""

    at: Moment | None
    at_ms: int
    event: str
    text: str
    incarnation: str
    worker: HistoryWorker | None
    reason: str


class WhyDocument(TypedDict):
    """A task explained. `now`: its state and what comes next, in one sentence; `commands`: what an operator can do;
    `timeline`: its history, the oldest step first, as far as it is kept: all of it if `complete`."""

    task_id: str
    state: State
    now: str
    commands: list[str]
    times: TimesDocument
    spans: list[SpanDocument]
    complete: bool
    place: PlaceDocument | None
    service: ServiceDocument | None
    due: Moment | None
    waits_for: list[str]
    parents: list[ParentDocument]
    batch: str | None
    expires: Moment | None
    retry_of: str
    retried_as: str
    refused: str
    duplicate_of: str
    timeline: list[HistoryLine]


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


def document(snapshot: TaskSnapshot, known: history.TaskHistory, spans: Sequence[TaskSpan]) -> WhyDocument:
    """The document, made of JSON values."""
    task = snapshot.task
    steps: tuple[TrailStep | None, ...] = (None, *snapshot.steps)
    shown = [row for row in rows(snapshot, known) if row.event != "forgotten"]
    return {
        "task_id": task.task_id,
        "state": task.state,
        "now": outlook(snapshot),
        "commands": list(commands(task)),
        "times": _times(times(snapshot)),
        "spans": [_span(each) for each in spans],
        "complete": _is_complete(task),
        "place": _place(snapshot.place) if snapshot.place else None,
        "service": _service(snapshot.service) if snapshot.service else None,
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


def _entry(row: TimelineRow, step: TrailStep | None, known: history.TaskHistory) -> HistoryLine:
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


def _times(of: TaskTimes) -> TimesDocument:
    return {"waited_ms": of.waited_ms, "ran_ms": of.ran_ms, "runs": of.runs}


def _span(of: TaskSpan) -> SpanDocument:
    return {"delivery": of.delivery, "trace_id": of.trace_id, "span_id": of.span_id, "url": of.url}


def _place(of: Place) -> PlaceDocument:
    return {"before": of.before, "exact": of.exact}


def _service(of: ServedState) -> ServiceDocument:
    return {
        "lane": of.lane,
        "name": of.name,
        "living": of.living,
        "in_lane": of.in_lane,
        "able": of.able,
        "servers": list(of.servers),
        "paused": of.paused,
        "unserved_ms": of.unserved_ms,
        "limits": _limits(of.limits) if of.limits else None,
    }


def _limits(of: ServedLimits) -> LimitsDocument:
    return {"max_attempts": of.max_attempts, "unknown_handler_timeout": of.unknown_handler_timeout, "keep": of.keep}
