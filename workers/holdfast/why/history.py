"""The history of a task in words: one sentence for each line of its trail (the history as the store keeps it). These
functions do no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from holdfast.core.steps import MARK, shown
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import TrailStep
from holdfast.core.words import counted
from holdfast.core.worker_records import WorkerKind, WorkerRecord
from holdfast.why.times import moment, span

SHOWN = 8  # characters of an incarnation that a sentence shows
SUSPECT = 2  # crashes that make a task a suspect
ELSEWHERE = frozenset({"suspended", "suspected"})  # events after which a task is not put back at the head of its lane
DISAGREEMENT_MS = 1_000  # the difference between the store's clock and the supervisor's that is tolerated
ORIGINS = {
    "own": "submitted through Holdfast",
    "foreign": "pushed to the list by another program",
}

FATES = {"rejected": "was rejected", "canceled": "was canceled", "gone": "no longer exists"}

SETTLED = {
    "completed": "turn {number} completed",
    "failed": "failed",
    "rejected": "rejected",
    "exhausted": "failed at its last attempt and is now a dead letter",
    "unreadable": "rejected because its operation cannot be read",
    "input-required": "turn {number} asks for input",
    "auth-required": "turn {number} asks for authorization",
}


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Facts for the sentences. `workers`: the store's record of each worker, by incarnation. `deaths`: the Unix time in
    milliseconds at which its supervisor saw a worker die, by incarnation.

    `events`: the names of the task's events, by time. Events at the time of a death are consequences of the death.
    """

    workers: Mapping[str, WorkerRecord] = field(default_factory=dict[str, WorkerRecord])
    deaths: Mapping[str, int] = field(default_factory=dict[str, int])
    events: Mapping[int, Set[str]] = field(default_factory=dict[int, Set[str]])


def events_of(steps: Sequence[TrailStep]) -> dict[int, Set[str]]:
    """The names of the events, by time. One call of the store may note several events with the same time."""
    events: dict[int, set[str]] = {}
    for step in steps:
        events.setdefault(step.at_ms, set()).add(step.event)
    return dict(events)


def beginning(task: TaskRecord) -> str:
    """The first line of the history: the acceptance of the task. The store's trail does not contain this line."""
    how = f"a retry of {task.retry_of}" if task.retry_of else ORIGINS.get(task.origin, task.origin)
    return f"accepted into lane {task.lane}: {how}"


def words(step: TrailStep, known: TaskHistory) -> str:
    """A line of the task's history as a sentence."""
    sentence = _WORDS.get(step.event)
    return sentence(step, known) if sentence else f"{step.event} {step.reason}".strip()


def named(incarnation: str, worker: WorkerRecord | None) -> str:
    """A worker in words: its slot and host, or only its incarnation if the store no longer has the worker."""
    if worker is None or not worker.host:
        return f"worker {incarnation}"
    kind = "quarantine worker" if worker.kind == WorkerKind.QUARANTINE else "worker"
    return f"{kind} {worker.slot} on {worker.host} (pid {worker.pid}, incarnation {incarnation[:SHOWN]})"


def because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _claimed(step: TrailStep, known: TaskHistory) -> str:
    return f"claimed by {named(step.incarnation, known.workers.get(step.incarnation))}, delivery {step.delivery}"


def _settled(step: TrailStep, _: TaskHistory) -> str:
    outcome = SETTLED.get(step.kind, step.kind).format(number=step.number)
    return f"{outcome}{because(step.reason)}"


def _crashed(step: TrailStep, known: TaskHistory) -> str:
    return f"its worker died: {step.reason}{_then(step, known)} (crash {step.number})"


def _then(step: TrailStep, known: TaskHistory) -> str:
    if step.number == 1:
        return _put_back(step, known, _after(step, known))
    return "; from now on it runs in quarantine" if step.number == SUSPECT else ""


def _put_back(step: TrailStep, known: TaskHistory, later: str = "") -> str:
    """In words: where the task was put back. Empty if the task was paused or became a suspect: these events have their
    own lines."""
    if ELSEWHERE & known.events.get(step.at_ms, frozenset()):
        return ""
    worker = known.workers.get(step.incarnation)
    is_suspect = worker is not None and worker.kind == WorkerKind.QUARANTINE
    return f"; put back {'among the suspects' if is_suspect else 'at the head'} of its lane{later}"


def _recovered(step: TrailStep, known: TaskHistory) -> str:
    return f"its worker was lost: {step.reason}{_put_back(step, known, _after(step, known))}, not counted as a crash"


def _released(step: TrailStep, known: TaskHistory) -> str:
    return f"returned unfinished{because(step.reason)}{_put_back(step, known)}"


def _returned(step: TrailStep, known: TaskHistory) -> str:
    how = f"given back before it had begun: {step.reason}" if step.reason else "its worker no longer ran it"
    return f"{how}{_put_back(step, known)}"


def _after(step: TrailStep, known: TaskHistory) -> str:
    """The time between the worker's death and this line of the history, in words. Empty if the time of the death is
    unknown, or seems more than a second later because the clocks of two hosts differ."""
    died = known.deaths.get(step.incarnation)
    return "" if died is None or died - step.at_ms > DISAGREEMENT_MS else f" {span(step.at_ms - died)} later"


def _delayed(step: TrailStep, _: TaskHistory) -> str:
    due = step.due_ms or step.at_ms
    return f"waits until {moment(due)} ({span(due - step.at_ms)})"


def _promoted(step: TrailStep, _: TaskHistory) -> str:
    return f"due at once{because(step.reason)}" if step.reason else "due: may be claimed"


def _waits(step: TrailStep, _: TaskHistory) -> str:
    if not step.other:
        return f"waits for {counted(step.number, 'task')} to end"
    tasks = f" and {counted(step.number - 1, 'task')}" if step.number > 1 else ""
    return f"waits for batch {step.other}{tasks} to end"


def _ready(step: TrailStep, _: TaskHistory) -> str:
    return f"batch {step.other} has ended" if step.other else "all tasks that it waited for have ended"


def _parent_failed(step: TrailStep, _: TaskHistory) -> str:
    return f"failed because it waited for {step.other}, which {FATES.get(step.reason, step.reason)}"


def _expired(_: TrailStep, __: TaskHistory) -> str:
    return "expired: no worker claimed it in time"


def _unknown_handler(step: TrailStep, _: TaskHistory) -> str:
    wanted = f"handler {step.other}" if step.other else "a default handler"
    return f"set aside until a worker with {wanted} claims it: the worker that read it has none"


def _step(step: TrailStep, _: TaskHistory) -> str:
    is_named = not step.other.startswith(MARK)
    what = f"recorded: {step.other}" if is_named else shown(step.other)
    return f"step {step.number} is {what}" + (f" ({step.reason})" if step.reason else "")


def _about(text: str) -> Callable[[TrailStep, TaskHistory], str]:
    return lambda step, _: f"{text.format(other=step.other, kind=step.kind, number=step.number)}{because(step.reason)}"


_WORDS: dict[str, Callable[[TrailStep, TaskHistory], str]] = {
    "claimed": _claimed,
    "settled": _settled,
    "crashed": _crashed,
    "recovered": _recovered,
    "delayed": _delayed,
    "promoted": _promoted,
    "retry": _about("failed, will be retried"),
    "release": _released,
    "defer": _about("not started: its worker had no free slot"),
    "returned": _returned,
    "sleep": _about("sleeps, and has given its slot back"),
    "suspended": _about("paused"),
    "pause-asked": _about("asked to pause"),
    "pause-withdrawn": _about("the pause was withdrawn"),
    "resumed": _about("resumed"),
    "canceled": _about("canceled"),
    "waits": _waits,
    "ready": _ready,
    "parent-failed": _parent_failed,
    "expired": _expired,
    "unknown-handler": _unknown_handler,
    "unserved": _about("failed and is now a dead letter"),
    "refused": _about("rejected, because Redis, which was away when the task was accepted, could not take it"),
    "put-back": _about("put back into its lane"),
    "dead-letter": lambda step, _: f"failed after {counted(step.number, 'crash', 'crashes')} and is now a dead letter",
    "suspected": _about("its worker was lost {number} times in a row; from now on it runs in quarantine"),
    "cleared": _about("its crashes beside {other} no longer count: {other} ended a worker again when it ran alone"),
    "message": _about("continues with message {other}"),
    "message-waits": _about("message {other} was received and waits until this turn has ended"),
    "joined": _about("message {other} joined the turn that a pause had interrupted, as message {number} of the task"),
    "turn": _about("the next turn begins with message {other}, which had waited"),
    "restored": _about("put back from PostgreSQL, {kind} in turn {number}"),
    "retried": _about("retried as {other}"),
    "step": _step,
    "retry-of": _about("repeats the request of {other}"),
}
