"""Makes a JSON document of the facts about a task, and the rows of its history. These functions do no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple, TypedDict, cast

from holdfast.core.outcomes import ParentResult
from holdfast.core.task_states import AFTER, State
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import KEPT, TrailStep, is_asleep, read_trail
from holdfast.core.words import counted
from holdfast.core.worker_records import ServedState
from holdfast.why import history
from holdfast.why.outlook import TaskSnapshot, outlook
from holdfast.why.task_spans import SpanDocument
from holdfast.why.times import Moment, moment, span

# The parents of a task, in words and as JSON values.

SHOWN = 5


class ParentDocument(TypedDict):
    """A parent of a task. `state`: the parent's state, or `gone` if the store no longer has it. `bytes`: the size of
    its result."""

    task_id: str
    state: str
    has_ended: bool
    reason: str
    bytes: int


def parent_words(parents: Sequence[ParentResult]) -> str:
    """One line with the first five parents and their states. Parents that did not complete come first, because they
    explain most."""
    ordered = sorted(parents, key=lambda parent: parent.state is State.COMPLETED)
    words = [_one(parent) for parent in ordered[:SHOWN]]
    if len(parents) > SHOWN:
        words.append(f"and {counted(len(parents) - SHOWN, 'other')}")
    return "; ".join(words)


def parent_documents(parents: Sequence[ParentResult]) -> list[ParentDocument]:
    """The parents as JSON values, in the order of `after`, without their results."""
    return [
        {
            "task_id": parent.task_id,
            "state": str(parent.state) if parent.state else "gone",
            "has_ended": parent.has_ended,
            "reason": parent.reason,
            "bytes": parent.size,
        }
        for parent in parents
    ]


def _one(parent: ParentResult) -> str:
    state = parent.state or "gone"
    if not parent.has_ended:
        return f"{parent.task_id} has not ended ({state})"
    why = f": {parent.reason}" if parent.reason and parent.state is not State.COMPLETED else ""
    return f"{parent.task_id} {state}{why}"


# The time that a task has waited for a worker and the time that it has run, computed from its history.


class TimesDocument(TypedDict):
    """The times of a task. `waited_ms`: how long workers could have claimed it but had not. `ran_ms`: how long workers
    had it. `runs`: how often it was claimed."""

    waited_ms: int
    ran_ms: int
    runs: int


def task_times(state: State, created_ms: int, steps: Sequence[TrailStep], now_ms: int) -> TimesDocument:
    """The times of a task until `now_ms`. `steps`: its history, oldest line first."""
    waited = ran = runs = 0
    before, since = State.SUBMITTED, created_ms
    for step in steps:
        after = AFTER.get(step.word)
        if after is None:
            continue
        waited += step.at_ms - since if before is State.SUBMITTED else 0
        ran += step.at_ms - since if before is State.WORKING else 0
        runs += after is State.WORKING
        before, since = after, step.at_ms
    if before is state:
        waited += now_ms - since if state is State.SUBMITTED else 0
        ran += now_ms - since if state is State.WORKING else 0
    return {"waited_ms": max(0, waited), "ran_ms": max(0, ran), "runs": runs}


def words(times: TimesDocument) -> str:
    waited = f"waited {span(times['waited_ms'])} for a worker"
    return f"{waited}, ran {span(times['ran_ms'])} in {counted(times['runs'], 'run')}" if times["runs"] else waited


# The commands that an operator may use on a task, by its state.

_CANCEL = "supervisor tasks cancel {task}"
_PAUSE = "supervisor tasks pause {task}"
_RETRY = "supervisor tasks retry {task}"
_RESUME = "supervisor tasks resume {task}"
_ANSWER = "supervisor tasks resume --text ANSWER {task}"
_SHOW = "supervisor tasks show {task}"
_REMOVE = "supervisor tasks remove {task}"
_NEXT_RUN = "supervisor why {next}"

COMMANDS: Mapping[State, tuple[str, ...]] = {
    State.SUBMITTED: (_PAUSE, _CANCEL),
    State.DELAYED: (_RETRY, _PAUSE, _CANCEL),  # a retry makes a delayed task due now
    State.WAITING: (_PAUSE, _CANCEL),
    State.WORKING: (_PAUSE, _CANCEL),
    State.INPUT_REQUIRED: (_ANSWER, _CANCEL),
    State.AUTH_REQUIRED: (_ANSWER, _CANCEL),
    State.SUSPENDED: (_RESUME, _CANCEL),
    State.COMPLETED: (_SHOW, _REMOVE),
    State.FAILED: (_SHOW, _RETRY, _REMOVE),
    State.REJECTED: (_SHOW, _RETRY, _REMOVE),
    State.CANCELED: (_SHOW, _RETRY, _REMOVE),
}


def commands(task: TaskRecord) -> tuple[str, ...]:
    """The commands for a task, ready for a shell. A second retry would do nothing, so a retried task gets a command
    that shows its retry instead."""
    forms = COMMANDS[task.state]
    if is_asleep(task.state, read_trail(task.trail)):
        forms = tuple(form for form in forms if form != _RETRY)  # the handler would only go on sleeping
    if task.retried_as:
        forms = tuple(_NEXT_RUN if form == _RETRY else form for form in forms)
    return tuple(form.format(task=_word(task.task_id), next=_word(task.retried_as)) for form in forms)


def _word(task_id: str) -> str:
    """The id as an argument of a command. An id that begins with a dash gets `--` before it."""
    return f"-- {task_id}" if task_id.startswith("-") else task_id


class PlaceDocument(TypedDict):
    """The place of a waiting task. `before`: the number of entries before it, or null if its entry is not in a lane.
    `exact`: false if `before` is a lower bound."""

    before: int | None
    exact: bool


class LimitsDocument(TypedDict):
    """The strictest limits of the workers that could run a task. Times are in seconds."""

    max_attempts: int
    unknown_handler_timeout: float
    keep: float


class ServiceDocument(TypedDict):
    """The workers that could run a task. `living`: the number of all live workers. `in_lane`: how many live workers
    serve the task's lane. `able`: how many of the workers of the lane also have its handler. `servers`: the names of
    the first able workers. `paused`: the reason why the lane is paused, or null. `unserved_ms`: for how long no worker
    has had the handler, or null."""

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
    """A step of a task's history. `incarnation` and `worker` name the worker that the step is about, if there is
    one."""

    at: Moment | None
    at_ms: int
    event: str
    text: str
    incarnation: str
    worker: HistoryWorker | None
    reason: str


class WhyDocument(TypedDict):
    """The explanation of a task. `now`: its state and its next event, in one sentence. `commands`: commands that an
    operator can use on it. `timeline`: its history, oldest step first. `complete`: false if the store has dropped steps
    of the history."""

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
    """A line of the history. `at_ms`: its Unix time. `since`: the time since the line before, in words. `text`: a
    sentence. `event`: the name of the event."""

    at_ms: int
    since: str
    text: str
    event: str


def rows(snapshot: TaskSnapshot, known: history.TaskHistory) -> list[TimelineRow]:
    """The history of the task, the oldest line first."""
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


def times(snapshot: TaskSnapshot) -> TimesDocument:
    """The time that the task has waited and run so far."""
    return task_times(snapshot.task.state, snapshot.task.created_ms, snapshot.steps, snapshot.now_ms)


def document(snapshot: TaskSnapshot, known: history.TaskHistory, spans: Sequence[SpanDocument]) -> WhyDocument:
    """The explanation of a task as JSON values."""
    task = snapshot.task
    steps: tuple[TrailStep | None, ...] = (None, *snapshot.steps)
    shown = [row for row in rows(snapshot, known) if row.event != "forgotten"]
    return {
        "task_id": task.task_id,
        "state": task.state,
        "now": outlook(snapshot),
        "commands": list(commands(task)),
        "times": times(snapshot),
        "spans": list(spans),
        "complete": _is_complete(task),
        "place": cast("PlaceDocument", asdict(snapshot.place)) if snapshot.place else None,
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


def _service(of: ServedState) -> ServiceDocument:
    return cast("ServiceDocument", asdict(of) | {"servers": list(of.servers)})
