"""The invariants of a queue, on a snapshot: each rule holds at every moment, whatever died. A breach is our error, or
somebody else has changed our keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from holdfast.core.task_states import TERMINAL, State
from holdfast.core.words import counted
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.queue_snapshot import QueueSnapshot

PARKED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.SUSPENDED})
OWNING = frozenset({"live", "draining"})  # states of a worker that may have tasks
SHOWN = 3

_OWN_ENTRY = re.compile(r'^\{"_b":"([^:"]+):(\d+)",')
_CHECK = Check("queue", "invariants")
_FIX = "supervisor recover puts lost tasks back; if no other program writes to these keys, please report it"


def judge(snapshot: QueueSnapshot | str) -> Iterator[Finding]:
    if isinstance(snapshot, str):
        yield _CHECK.note(f"not compared: {snapshot}", "supervisor doctor --deep compares them at a quiet hour")
        return
    breaches = [breach for rule in _RULES for breach in rule(snapshot)]
    if breaches:
        more = f" and {len(breaches) - SHOWN} more" if len(breaches) > SHOWN else ""
        yield _CHECK.problem("; ".join(breaches[:SHOWN]) + more, _FIX)
    else:
        tasks = counted(len(snapshot.tasks), "task")
        yield _CHECK.ok(f"{tasks} and {counted(len(snapshot.workers), 'worker')} agree with each other")


def _one_owner(snapshot: QueueSnapshot) -> Iterator[str]:
    """A task that runs is in the hands of the worker that its record names, by the same claim."""
    held = {task: (worker, claim) for worker, task, claim in snapshot.owned}
    for task_id, task in snapshot.tasks.items():
        named = (task.get("owner", ""), task.get("claim", "")) if task.get("state") == State.WORKING else None
        if named != held.get(task_id):
            yield f"task {task_id} is {task.get('state')}, but what runs does not agree with its record"
    for task_id in held.keys() - snapshot.tasks.keys():
        yield f"task {task_id} runs and has no record"


def _owner_lives(snapshot: QueueSnapshot) -> Iterator[str]:
    workers = snapshot.workers
    for worker in dict.fromkeys(worker for worker, _, _ in snapshot.owned):
        if (state := workers.get(worker, {}).get("state", "unknown")) not in OWNING:
            yield f"worker {worker} is {state} and still has tasks"


def _indexed(snapshot: QueueSnapshot) -> Iterator[str]:
    """Each task is in the index of its state, and in no other."""
    submitted = {task for _, held in snapshot.of_kind("submitted:") for task in held}
    indexes = {name: set(snapshot.keys.get(name, ())) for name in ("due", "waiting", "parked", "finished")}
    indexes["submitted"] = submitted
    for task_id, task in snapshot.tasks.items():
        wanted = _index_of(task.get("state", ""))
        stands = {name for name, held in indexes.items() if task_id in held}
        if stands != ({wanted} if wanted else set()):
            yield f"task {task_id} is {task.get('state')} and stands in: {', '.join(sorted(stands)) or 'no index'}"
    for task_id in set[str]().union(*indexes.values()) - snapshot.tasks.keys():
        yield f"an index has task {task_id}, which has no record"


def _index_of(state: str) -> str:
    if state in TERMINAL:
        return "finished"
    return "parked" if state in PARKED else {State.DELAYED: "due", State.WORKING: ""}.get(State(state), state)


def _has_entry(snapshot: QueueSnapshot) -> Iterator[str]:
    """A submitted task has an entry in its lane, unless it stands beside it: a suspect, or at a gate."""
    for lane, held in snapshot.of_kind("submitted:"):
        entries = {own[1] for raw in snapshot.entries(lane) if (own := _OWN_ENTRY.match(raw))}
        for task_id in held:
            task = snapshot.tasks.get(task_id, {})
            if task_id not in entries and task.get("solo") != "1" and not task.get("held"):
                yield f"task {task_id} is submitted and has no entry in lane {lane}"


def _ended(snapshot: QueueSnapshot) -> Iterator[str]:
    for task_id, task in snapshot.tasks.items():
        if task.get("state") in TERMINAL and (task.get("claim") or task.get("owner")):
            yield f"task {task_id} is {task.get('state')} and a worker still has it"


def _counted(snapshot: QueueSnapshot) -> Iterator[str]:
    states = Counter(task.get("state", "") for task in snapshot.tasks.values())
    tally = snapshot.keys.get("tally", {})
    for state in sorted(TERMINAL | PARKED):
        if states[state] != int(tally.get(state, 0)):
            yield f"{states[state]} tasks are {state}, and the count says {tally.get(state, 0)}"


_RULES: tuple[Callable[[QueueSnapshot], Iterator[str]], ...] = (
    _one_owner,
    _owner_lives,
    _indexed,
    _has_entry,
    _ended,
    _counted,
)
