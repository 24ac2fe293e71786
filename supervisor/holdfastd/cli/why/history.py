"""What happened to a task, in words: one sentence for each step of its trail. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from holdfast.core.plurals import counted
from holdfast.core.tasks import TaskRecord, WorkerKind, WorkerRecord
from holdfast.core.trail import TrailStep
from holdfastd.cli.views.times import moment, span

SHOWN = 8  # characters of an incarnation
SUSPECT = 2  # crashes of a suspect
ELSEWHERE = frozenset({"suspended", "suspected"})  # of a task that was not put back at the head of its lane
DISAGREEMENT_MS = 1_000  # between the store's clock and the supervisor's
ORIGINS = {
    "own": "submitted through Holdfast",
    "foreign": "pushed to the list by somebody else",
}

FATES = {"rejected": "was rejected", "canceled": "was canceled", "gone": "is gone"}

SETTLED = {
    "completed": "turn {number} completed",
    "failed": "failed",
    "rejected": "rejected",
    "exhausted": "failed for the last time allowed, a dead letter",
    "unreadable": "rejected, as its operation cannot be read",
    "input-required": "turn {number} asks for input",
    "auth-required": "turn {number} asks to be authorized",
}


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Of incarnations: what the store knows of them, and when they died (Unix ms) as far as their supervisor told.
    `events`: those of the task by their moment, which tell what followed from a death."""

    workers: Mapping[str, WorkerRecord] = field(default_factory=dict[str, WorkerRecord])
    deaths: Mapping[str, int] = field(default_factory=dict[str, int])
    events: Mapping[int, Set[str]] = field(default_factory=dict[int, Set[str]])


def events_of(steps: Sequence[TrailStep]) -> dict[int, Set[str]]:
    """The events of each moment: what one call of the store has noted."""
    found: dict[int, set[str]] = {}
    for step in steps:
        found.setdefault(step.at_ms, set()).add(step.event)
    return dict(found)


def beginning(task: TaskRecord) -> str:
    """How the task came; the trail begins behind that."""
    how = f"a retry of {task.retry_of}" if task.retry_of else ORIGINS.get(task.origin, task.origin)
    return f"accepted into lane {task.lane}: {how}"


def words(step: TrailStep, known: TaskHistory) -> str:
    """What this step was, with all that is known of the worker it is about."""
    tell = _WORDS.get(step.event)
    return tell(step, known) if tell else f"{step.event} {step.reason}".strip()


def named(incarnation: str, worker: WorkerRecord | None) -> str:
    """A worker by its place; by its incarnation alone once the store has forgotten it."""
    if worker is None or not worker.host:
        return f"worker {incarnation}"
    kind = "quarantine worker" if worker.kind == WorkerKind.QUARANTINE else "worker"
    return f"{kind} {worker.slot} on {worker.host} (pid {worker.pid}, incarnation {incarnation[:SHOWN]})"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _claimed(step: TrailStep, known: TaskHistory) -> str:
    return f"claimed by {named(step.incarnation, known.workers.get(step.incarnation))}, delivery {step.delivery}"


def _settled(step: TrailStep, _: TaskHistory) -> str:
    told = SETTLED.get(step.kind, step.kind).format(number=step.number)
    return f"{told}{_because(step.reason)}"


def _crashed(step: TrailStep, known: TaskHistory) -> str:
    return f"its worker died: {step.reason}{_then(step, known)} (crash {step.number})"


def _then(step: TrailStep, known: TaskHistory) -> str:
    if step.number == 1:
        return _put_back(step, known, _after(step, known))
    return "; it runs in quarantine" if step.number == SUSPECT else ""


def _put_back(step: TrailStep, known: TaskHistory, later: str = "") -> str:
    """Where the task went; nothing where a line of its own tells that it was paused or became a suspect."""
    if ELSEWHERE & known.events.get(step.at_ms, frozenset()):
        return ""
    worker = known.workers.get(step.incarnation)
    is_suspect = worker is not None and worker.kind == WorkerKind.QUARANTINE
    return f"; put back {'among the suspects' if is_suspect else 'at the head'} of its lane{later}"


def _recovered(step: TrailStep, known: TaskHistory) -> str:
    return f"its worker went: {step.reason}{_put_back(step, known, _after(step, known))}, not charged with it"


def _released(step: TrailStep, known: TaskHistory) -> str:
    return f"given back unfinished{_because(step.reason)}{_put_back(step, known)}"


def _returned(step: TrailStep, known: TaskHistory) -> str:
    return f"its worker did not hold it any more{_put_back(step, known)}"


def _after(step: TrailStep, known: TaskHistory) -> str:
    """How long after the death; nothing where two clocks disagree by more than they may."""
    died = known.deaths.get(step.incarnation)
    return "" if died is None or died - step.at_ms > DISAGREEMENT_MS else f" {span(step.at_ms - died)} later"


def _delayed(step: TrailStep, _: TaskHistory) -> str:
    due = step.due_ms or step.at_ms
    return f"waits until {moment(due)} ({span(due - step.at_ms)})"


def _promoted(step: TrailStep, _: TaskHistory) -> str:
    return f"due at once{_because(step.reason)}" if step.reason else "due: may be claimed"


def _waits(step: TrailStep, _: TaskHistory) -> str:
    return f"waits for {counted(step.number, 'task')} to end"


def _parent_failed(step: TrailStep, _: TaskHistory) -> str:
    return f"failed, as it was to run after {step.other}, which {FATES.get(step.reason, step.reason)}"


def _expired(_: TrailStep, __: TaskHistory) -> str:
    return "expired: no worker had taken it by its time"


def _unknown_handler(step: TrailStep, _: TaskHistory) -> str:
    wanted = f"handler {step.other}" if step.other else "a default handler"
    return f"set beside its lane until a worker takes it that has {wanted}: the one that met it has not"


def _plain(text: str) -> Callable[[TrailStep, TaskHistory], str]:
    return lambda step, _: f"{text}{_because(step.reason)}"


def _about(text: str) -> Callable[[TrailStep, TaskHistory], str]:
    return lambda step, _: f"{text.format(other=step.other, kind=step.kind, number=step.number)}{_because(step.reason)}"


_WORDS: dict[str, Callable[[TrailStep, TaskHistory], str]] = {
    "claimed": _claimed,
    "settled": _settled,
    "crashed": _crashed,
    "recovered": _recovered,
    "delayed": _delayed,
    "promoted": _promoted,
    "retry": _plain("failed, to be tried again"),
    "release": _released,
    "defer": _plain("not begun: its worker had no room for it"),
    "returned": _returned,
    "suspended": _plain("paused"),
    "pause-asked": _plain("asked to pause"),
    "pause-withdrawn": _plain("the pause was withdrawn"),
    "resumed": _plain("resumed"),
    "canceled": _plain("canceled"),
    "waits": _waits,
    "ready": _plain("what it waited for has ended"),
    "parent-failed": _parent_failed,
    "expired": _expired,
    "unknown-handler": _unknown_handler,
    "unserved": _plain("failed, a dead letter"),
    "put-back": _plain("put back into its lane"),
    "dead-letter": lambda step, _: f"given up on after {counted(step.number, 'crash', 'crashes')}: a dead letter",
    "suspected": _about("recovered {number} times in a row without an order: from now on it runs in quarantine"),
    "cleared": _about("cleared: {other} ended its quarantine worker; a death that both shared counts no more"),
    "message": _about("goes on with message {other}"),
    "message-waits": _about("message {other} came, and waits until this turn has ended"),
    "joined": _about("message {other} joined the turn that a pause had interrupted: message {number} of the task"),
    "turn": _about("the next turn begins, with message {other}, which had waited"),
    "restored": _about("put back from PostgreSQL, {kind} in turn {number}"),
    "retried": _about("retried as {other}"),
    "retry-of": _about("runs what {other} was asked"),
}
