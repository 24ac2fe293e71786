"""How a task stands now and what will happen next, in words. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.plurals import counted
from holdfast.core.served import ServedState
from holdfast.core.submit_options import IfParentFails
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Place, TaskRecord, WorkerRecord
from holdfast.core.trail import TrailStep
from holdfastd.cli.views.start_obstacles import obstacle, served_by
from holdfastd.cli.views.times import moment, span
from holdfastd.cli.why.history import named

SUSPECT_CRASHES = 2  # fewer: it is a suspect for its recoveries
SILENT_MS = 5_000  # without a heartbeat: worth mentioning
TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """What is known at one moment. `keep_ms`, `max_attempts` and `unknown_ms` (how long a task waits for its handler)
    are those of the running workers, or of the settings here where none has registered them (`are_registered`). `owner`
    runs the task; `parents` are the first of those that it waits for; `held_up`: why no host claims anything, empty
    where some do; `service`: who could run it; `held_back`: why the supervisor here starts no suspect, empty where it
    would or none runs here."""

    task: TaskRecord
    steps: tuple[TrailStep, ...]
    now_ms: int
    keep_ms: int
    max_attempts: int
    living: int
    place: Place | None = None
    owner: WorkerRecord | None = None
    parents: tuple[TaskRecord, ...] = ()
    held_up: str = ""
    service: ServedState | None = None
    unknown_ms: int = 0
    held_back: str = ""
    are_registered: bool = True


def outlook(facts: TaskSnapshot) -> str:
    """One sentence."""
    told = _TOLD[facts.task.state](facts) + _unless_expired(facts)
    waiting = facts.task.pending
    return (
        f"{told}; {counted(waiting, 'message')} for it {_verb(waiting)} until this turn has ended" if waiting else told
    )


def _submitted(facts: TaskSnapshot) -> str:
    where = _waits_for_quarantine(facts) if facts.task.solo else _in_line(facts)
    if not facts.living:
        return f"{where}; no worker is there to take it: supervisor start"
    if facts.service is not None and (why_not := obstacle(facts.service)):
        return f"{where}; {why_not}{_until_it_fails(facts)}"
    return f"{where}; {facts.held_up}" if facts.held_up else where


def _until_it_fails(facts: TaskSnapshot) -> str:
    """The time that is left to a task whose handler nobody has; it stands while its lane is paused."""
    service = facts.service
    if service is None or service.unserved_ms is None or service.paused is not None or service.able:
        return ""
    left = max(0, facts.unknown_ms - service.unserved_ms)
    limit = f"--unknown-handler-timeout{_here(facts)}"
    return f"; it fails in {span(left)} at the earliest, unless one that has it comes ({limit})"


def _in_line(facts: TaskSnapshot) -> str:
    lane, place = facts.task.lane, facts.place
    if place is None:
        return f"waits in lane {lane}"
    if place.before is None:
        return f"waits in lane {lane}, but its entry was taken from there: a steward will put it back"
    if facts.service is not None and facts.service.unserved_ms is not None:
        return f"waits beside lane {lane} for a worker that has {_handler(facts.task)}{_served_by(facts.service)}"
    if place.before == 0:
        stands = facts.service is not None and obstacle(facts.service)
        return f"is the first in lane {lane}" if stands else f"is the next in lane {lane}"
    least = "" if place.exact else "at least "
    return f"waits in lane {lane}, {least}{counted(place.before, 'entry', 'entries')} before it"


def _handler(task: TaskRecord) -> str:
    return f"handler {task.name}" if task.name else "a default handler"


def _served_by(service: ServedState) -> str:
    return f": {served_by(service)}" if service.servers else ""


def _waits_for_quarantine(facts: TaskSnapshot) -> str:
    before = facts.place.before if facts.place else None
    others = f", {counted(before, 'other suspect')} of lane {facts.task.lane} before it" if before else ""
    held_back = f"; no worker is started for it here: {facts.held_back}" if facts.held_back else ""
    return f"waits for quarantine {_suspected(facts.task)}{others}{held_back}"


def _suspected(task: TaskRecord) -> str:
    if task.crashes < SUSPECT_CRASHES:
        return "because three workers in a row were lost with it"
    return f"because it ended its worker {_times(task.crashes)}"


def _delayed(facts: TaskSnapshot) -> str:
    left = (facts.task.due_ms or facts.now_ms) - facts.now_ms
    due = f"due in {span(left)}" if left > 0 else f"due since {span(-left)}: a steward, or the next pull, submits it"
    if facts.task.solo:
        return f"{due}, in quarantine {_suspected(facts.task)}"
    return f"{due}, {_attempt(facts)}{_because(facts.task.reason)}" if facts.task.attempts else due


def _waiting(facts: TaskSnapshot) -> str:
    named = [f"{one.task_id} ({one.state})" for one in facts.parents]
    others = len(facts.task.waits_for) - len(named)
    if others > 0:
        named.append(counted(others, "other"))
    then = "; should one not complete, it runs all the same" if facts.task.if_parent_fails == IfParentFails.RUN else ""
    return f"waits until {' and '.join(named)} {'has' if len(named) == 1 else 'have'} ended{then}"


def _unless_expired(facts: TaskSnapshot) -> str:
    task = facts.task
    if task.expires_ms is None or task.deliveries or task.state in TERMINAL:
        return ""
    left = task.expires_ms - facts.now_ms
    return f"; expires in {span(left)} unless a worker takes it before" if left > 0 else "; has expired"


def _working(facts: TaskSnapshot) -> str:
    task, owner = facts.task, facts.owner
    where = f"runs in {named(task.owner, owner)}"
    since = next((step.at_ms for step in reversed(facts.steps) if step.claim == task.claim), None)
    lasting = "" if since is None else f" for {span(facts.now_ms - since)}"
    apart = f", in quarantine {_suspected(task)}" if task.solo else ""
    progress = f", progress {task.progress}" if task.progress else ""
    return f"{where}{lasting}, {_attempt(facts)}{apart}{progress}{_doubt(owner)}"


def _doubt(owner: WorkerRecord | None) -> str:
    if owner is None:
        return "; the store knows nothing of that worker: when its lease ends a steward puts the task back"
    if owner.beat_ago_ms > SILENT_MS:
        silent = f"not heard of for {span(owner.beat_ago_ms)}"
        return f"; that worker was {silent}: when its lease ends the task goes back to its lane"
    return "; that worker drains" if owner.state == "draining" else ""


def _attempt(facts: TaskSnapshot) -> str:
    own = facts.task.max_attempts
    return f"attempt {facts.task.attempts + 1} of {own or f'{facts.max_attempts}{_here(facts)}'}"


def _here(facts: TaskSnapshot) -> str:
    return "" if facts.are_registered else " by the settings here"


def _asks(what: str) -> Callable[[TaskSnapshot], str]:
    return lambda facts: (
        f"waits {what}: a message goes on with it (supervisor submit --task-id {facts.task.task_id} TEXT)"
    )


def _suspended(facts: TaskSnapshot) -> str:
    return f"is paused{_because(facts.task.reason)}; it goes on when it is resumed, or given a message"


def _ended(facts: TaskSnapshot) -> str:
    task = facts.task
    finished = task.finished_ms or facts.now_ms
    told = f"{task.state} {span(facts.now_ms - finished)} ago{_because(_spelled(task))}"
    return f"{told}; kept until {moment(finished + facts.keep_ms)}{_here(facts)}{_onwards(task)}"


def _spelled(task: TaskRecord) -> str:
    return task.reason if task.state is not State.COMPLETED else ""


def _onwards(task: TaskRecord) -> str:
    if task.retried_as:
        return f"; runs again as {task.retried_as}"
    return f"; a dead letter: supervisor tasks retry {task.task_id} runs it again" if task.dead else ""


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _verb(number: int) -> str:
    return "waits" if number == 1 else "wait"


def _times(number: int) -> str:
    return TIMES.get(number, f"{number} times")


_TOLD: dict[State, Callable[[TaskSnapshot], str]] = {
    State.SUBMITTED: _submitted,
    State.DELAYED: _delayed,
    State.WAITING: _waiting,
    State.WORKING: _working,
    State.INPUT_REQUIRED: _asks("for input"),
    State.AUTH_REQUIRED: _asks("to be authorized"),
    State.SUSPENDED: _suspended,
    State.COMPLETED: _ended,
    State.FAILED: _ended,
    State.REJECTED: _ended,
    State.CANCELED: _ended,
}
