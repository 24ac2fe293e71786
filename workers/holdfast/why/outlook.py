"""The present state of a task and its next event, in words. These functions do no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.acceptance import IfParentFails
from holdfast.core.batches import BatchRecord
from holdfast.core.outcomes import ParentResult
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import PlaceInLane, TaskRecord
from holdfast.core.trail import TrailStep, is_asleep
from holdfast.core.webhook_notice import Notice, WaitingNotice
from holdfast.core.words import counted
from holdfast.core.worker_records import ServedState, WorkerRecord, WorkerStage
from holdfast.why.history import because, named
from holdfast.why.times import moment, span

# The reasons why tasks of a lane and a handler wait, in words.


def waiting_reason(state: ServedState) -> str:
    """In words: why tasks of this lane and handler wait, and what an operator can do. A pause of the lane is named
    first, then a missing worker. Empty if a worker can claim the tasks."""
    return "; ".join(filter(None, (pause_reason(state), missing_worker(state))))


def pause_reason(state: ServedState) -> str:
    if state.paused is None:
        return ""
    return f"lane {state.lane} is paused ({state.paused}): supervisor lanes resume {state.lane}"


def missing_worker(state: ServedState) -> str:
    if not state.living:
        return "no worker runs: supervisor start"
    if not state.in_lane:
        others = counted(state.living, "live worker")
        return f"no live worker serves lane {state.lane} ({others} of other lanes): add it to --lanes"
    return "" if state.able else f"{missing(state.lane, state.name)} ({counted(state.in_lane, 'live worker')} there)"


def missing(lane: str, name: str) -> str:
    wanted = f"handler {name}" if name else "a default handler"
    return f"no live worker of lane {lane} has {wanted}"


def served_by(state: ServedState) -> str:
    """The names of the workers that can run these tasks."""
    others = state.able - len(state.servers)
    return ", ".join(state.servers) + (f" and {others} more" if others > 0 else "")


SUSPECT_CRASHES = 2  # a suspect with fewer crashes was recovered three times in a row
SILENT_MS = 5_000  # time without a heartbeat after which the sentence mentions it
TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """The facts that explain a task.

    `keep_ms`, `max_attempts` and `unknown_ms` (the time that a task waits for a worker with its handler) are limits. If
    `are_registered`, running workers have registered these limits; else they come from the settings of this command.
    `owner`: the worker that runs the task. `parents`: the first three parents that the task still waits for. `after`:
    all its parents, without results. `held_up`: the orders by which no host may claim tasks, in words. `service`: the
    workers that could run the task. `held_back`: the reason why the supervisor of this host starts no quarantine
    worker, or empty. `webhook`: the notice of the task's end, if it is not delivered yet.
    """

    task: TaskRecord
    steps: tuple[TrailStep, ...]
    now_ms: int
    keep_ms: int
    max_attempts: int
    place: PlaceInLane | None = None
    owner: WorkerRecord | None = None
    parents: tuple[TaskRecord, ...] = ()
    after: tuple[ParentResult, ...] = ()
    batch: BatchRecord | None = None
    held_up: tuple[str, ...] = ()
    service: ServedState | None = None
    unknown_ms: int = 0
    held_back: str = ""
    are_registered: bool = True
    webhook: WaitingNotice | None = None


def outlook(snapshot: TaskSnapshot) -> str:
    """The state and the next event of a task, in one sentence."""
    sentence = (
        _SENTENCES[snapshot.task.state](snapshot)
        + _unless_expired(snapshot)
        + _of_batch(snapshot)
        + _of_webhook(snapshot)
    )
    if not (number := snapshot.task.pending):
        return sentence
    wait = "waits" if number == 1 else "wait"
    return f"{sentence}; {counted(number, 'message')} for it {wait} until this turn has ended"


def _submitted(snapshot: TaskSnapshot) -> str:
    where = _waits_for_quarantine(snapshot) if snapshot.task.solo else _in_line(snapshot)
    return "; ".join((where, *_obstacles(snapshot)))


def _obstacles(snapshot: TaskSnapshot) -> list[str]:
    """All reasons why the task does not start. A pause and orders to hosts come first: while they hold, even a new
    worker claims nothing."""
    if (service := snapshot.service) is None:
        return []
    reasons = (pause_reason(service), *snapshot.held_up, missing_worker(service), _until_it_fails(snapshot, service))
    return [each for each in reasons if each]


def _until_it_fails(snapshot: TaskSnapshot, service: ServedState) -> str:
    """In words: the time until the task fails because no worker has its handler. Empty while the lane is paused,
    because the time does not count then."""
    if service.unserved_ms is None or service.paused is not None or service.able:
        return ""
    left = max(0, snapshot.unknown_ms - service.unserved_ms)
    limit = f"--unknown-handler-timeout{_here(snapshot)}"
    return f"it fails in {span(left)} or later, unless such a worker starts ({limit})"


def _in_line(snapshot: TaskSnapshot) -> str:
    lane, place = snapshot.task.lane, snapshot.place
    if place is None:
        return f"waits in lane {lane}"
    if place.before is None:
        return f"waits in lane {lane}, but another program took its entry from the list: a steward will put it back"
    if snapshot.service is not None and snapshot.service.unserved_ms is not None:
        return f"waits beside lane {lane} for a worker that has {_handler(snapshot.task)}{_served_by(snapshot.service)}"
    if place.before == 0:
        return f"is the {'first' if _obstacles(snapshot) else 'next'} in lane {lane}"
    least = "" if place.exact else "at least "
    return f"waits in lane {lane}, {least}{counted(place.before, 'entry', 'entries')} before it"


def _handler(task: TaskRecord) -> str:
    return f"handler {task.name}" if task.name else "a default handler"


def _served_by(service: ServedState) -> str:
    return f": {served_by(service)}" if service.servers else ""


def _waits_for_quarantine(snapshot: TaskSnapshot) -> str:
    before = snapshot.place.before if snapshot.place else None
    others = f", {counted(before, 'other suspect')} of lane {snapshot.task.lane} before it" if before else ""
    held_back = (
        f"; the supervisor on this host starts no quarantine worker: {snapshot.held_back}" if snapshot.held_back else ""
    )
    return f"waits for quarantine {_suspected(snapshot.task)}{others}{held_back}"


def _suspected(task: TaskRecord) -> str:
    if task.crashes < SUSPECT_CRASHES:
        return "because three of its workers in a row were lost"
    return f"because it ended its worker {_times(task.crashes)}"


def _delayed(snapshot: TaskSnapshot) -> str:
    left = (snapshot.task.due_ms or snapshot.now_ms) - snapshot.now_ms
    if left > 0 and is_asleep(snapshot.task.state, snapshot.steps):
        return f"sleeps until {moment(snapshot.task.due_ms)} ({span(left)}), then its handler goes on behind the sleep"
    due = f"due in {span(left)}" if left > 0 else f"due since {span(-left)}: a steward, or the next pull, submits it"
    if snapshot.task.solo:
        return f"{due}, in quarantine {_suspected(snapshot.task)}"
    return f"{due}, {_attempt(snapshot)}{because(snapshot.task.reason)}" if snapshot.task.attempts else due


def _waiting(snapshot: TaskSnapshot) -> str:
    named = [f"{each.task_id} ({each.state})" for each in snapshot.parents]
    if snapshot.task.is_callback and snapshot.batch is not None and snapshot.batch.ended_ms is None:
        named.append(f"batch {snapshot.task.batch} ({_progress(snapshot.batch)})")
    others = len(snapshot.task.waits_for) - len(snapshot.parents)
    if others > 0:
        named.append(counted(others, "other"))
    if not named:
        return "all that it waited for has ended; it is submitted next"
    then = "; it runs even if one does not complete" if snapshot.task.if_parent_fails == IfParentFails.RUN else ""
    return f"waits until {' and '.join(named)} {'has' if len(named) == 1 else 'have'} ended{then}"


def _progress(batch: BatchRecord) -> str:
    counts = batch.counts
    missing = batch.expected - counts.total if batch.sealed_ms is None else 0
    tasks = f"{counts.open} of {counted(counts.total, 'task')} open"
    return f"{tasks}, {missing} not submitted yet" if missing > 0 else tasks


def _of_batch(snapshot: TaskSnapshot) -> str:
    task, batch = snapshot.task, snapshot.batch
    if batch is None or task.is_callback:
        return ""
    return f"; a task of batch {task.batch}: {_progress(batch)}"


def _of_webhook(snapshot: TaskSnapshot) -> str:
    waiting = snapshot.webhook
    if waiting is None or not waiting.notice.why:
        return ""
    tries = f"{counted(waiting.notice.tries, 'try', 'tries')}: " if isinstance(waiting.notice, Notice) else ""
    left = waiting.due_ms - snapshot.now_ms
    again = f"the next try is in {span(left)}" if left > 0 else "it is tried again now"
    return f"; its webhook could not be delivered ({tries}{waiting.notice.why}), {again}"


def _unless_expired(snapshot: TaskSnapshot) -> str:
    task = snapshot.task
    if task.expires_ms is None or task.deliveries or task.state in TERMINAL:
        return ""
    left = task.expires_ms - snapshot.now_ms
    return f"; expires in {span(left)} unless a worker claims it first" if left > 0 else "; has expired"


def _working(snapshot: TaskSnapshot) -> str:
    task, owner = snapshot.task, snapshot.owner
    where = f"runs in {named(task.owner, owner)}"
    since = next((step.at_ms for step in reversed(snapshot.steps) if step.claim == task.claim), None)
    lasting = "" if since is None else f" for {span(snapshot.now_ms - since)}"
    apart = f", in quarantine {_suspected(task)}" if task.solo else ""
    progress = f", progress {task.progress}" if task.progress else ""
    return f"{where}{lasting}, {_attempt(snapshot)}{apart}{progress}{_doubt(owner)}"


def _doubt(owner: WorkerRecord | None) -> str:
    if owner is None:
        return "; that worker is unknown to the store: a steward will put the task back when its lease ends"
    if owner.beat_ago_ms > SILENT_MS:
        silence = f"that worker has sent no heartbeat for {span(owner.beat_ago_ms)}"
        return f"; {silence}: a steward will put the task back when its lease ends"
    return "; that worker is draining" if owner.state == WorkerStage.DRAINING else ""


def _attempt(snapshot: TaskSnapshot) -> str:
    own, attempt = snapshot.task.max_attempts, snapshot.task.attempts + 1
    run = snapshot.task.runs + (snapshot.task.state is not State.WORKING)
    if attempt > (own or snapshot.max_attempts):  # the worker that ran it has another limit than those that run now
        return f"run {run}, attempt {attempt}"
    return f"run {run}, attempt {attempt} of {own or f'{snapshot.max_attempts}{_here(snapshot)}'}"


def _here(snapshot: TaskSnapshot) -> str:
    return "" if snapshot.are_registered else " by the settings of this command"


def _asks(what: str) -> Callable[[TaskSnapshot], str]:
    return lambda snapshot: (
        f"waits {what}: it continues with a message (supervisor submit --task-id {snapshot.task.task_id} TEXT)"
    )


def _suspended(snapshot: TaskSnapshot) -> str:
    return f"is paused{because(snapshot.task.reason)}; it continues when it is resumed or gets a message"


def _ended(snapshot: TaskSnapshot) -> str:
    task = snapshot.task
    finished = task.finished_ms or snapshot.now_ms
    reason = "" if task.state is State.COMPLETED else task.reason
    sentence = f"{task.state} {span(snapshot.now_ms - finished)} ago{because(reason)}"
    return f"{sentence}; kept until {moment(finished + snapshot.keep_ms)}{_here(snapshot)}{_onwards(task)}"


def _onwards(task: TaskRecord) -> str:
    if task.retried_as:
        return f"; runs again as {task.retried_as}"
    return f"; a dead letter: supervisor tasks retry {task.task_id} runs it again" if task.dead else ""


def _times(number: int) -> str:
    return TIMES.get(number, f"{number} times")


_SENTENCES: dict[State, Callable[[TaskSnapshot], str]] = {
    State.SUBMITTED: _submitted,
    State.DELAYED: _delayed,
    State.WAITING: _waiting,
    State.WORKING: _working,
    State.INPUT_REQUIRED: _asks("for input"),
    State.AUTH_REQUIRED: _asks("for authorization"),
    State.SUSPENDED: _suspended,
    State.COMPLETED: _ended,
    State.FAILED: _ended,
    State.REJECTED: _ended,
    State.CANCELED: _ended,
}
