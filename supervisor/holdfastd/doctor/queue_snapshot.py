"""Reads all keys of a queue at one moment, and checks that they agree with each other.

Redis answers no other client while it takes this snapshot, so a large store is only read with --deep.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.core.store_info import MemoryInfo
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.words import counted, some
from holdfast.core.worker_records import WorkerStage
from holdfast.errors import StoreError
from holdfast.store.redis.keys import KEY_NAMES
from holdfast_config import RedisSettings
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.store_checks import asked

MOST_BYTES = 16 << 20  # memory of the server up to which a snapshot is taken; it then takes some ten milliseconds
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """A snapshot. `keys`: the contents of the namespace's keys by their name in it, for example `task:7`. `expiring`:
    the names of keys that expire. `lists`: the lanes, whose keys are outside the namespace."""

    keys: Mapping[str, Any]
    expiring: frozenset[str]
    lists: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Mapping[str, Any], queue: str) -> QueueSnapshot:
        """The snapshot of this queue. `snapshot`: contents by key, as the store gives them."""
        prefix = f"{{{queue}}}:"
        ours = {key.removeprefix(prefix): held for key, held in snapshot.items() if key.startswith(prefix)}
        return cls(
            {key: held["content"] for key, held in ours.items()},
            frozenset(key for key, held in ours.items() if held["ttl"] >= 0),
            {key: held["content"] for key, held in snapshot.items() if not key.startswith(prefix)},
        )

    def of_kind(self, kind: str) -> Iterator[tuple[str, Any]]:
        """The keys that begin with `kind`, with their contents. The keys are given without this beginning."""
        return ((key.removeprefix(kind), held) for key, held in self.keys.items() if key.startswith(kind))

    @property
    def tasks(self) -> dict[str, Mapping[str, str]]:
        return dict(self.of_kind("task:"))

    @property
    def workers(self) -> dict[str, Mapping[str, str]]:
        return {name: held for name, held in self.of_kind("worker:") if ":" not in name}

    @property
    def owned(self) -> list[tuple[str, str, str]]:
        """Worker, task and claim of all tasks that workers run."""
        running = ((name, held) for name, held in self.of_kind("worker:") if name.endswith(":running"))
        return [(name.removesuffix(":running"), task, claim) for name, held in running for task, claim in held.items()]

    def entries(self, lane: str) -> list[str]:
        return list(self.lists.get(lane) or self.keys.get(f"lane:{lane}", ()))


def look(redis: RedisSettings, memory: MemoryInfo | None, *, deep: bool) -> QueueSnapshot | str:
    """The snapshot, or the reason why none was taken. `deep`: take it whatever the size of the store."""
    if not deep and (memory is None or memory.used > MOST_BYTES):
        much = "an unknown amount" if memory is None else f"{memory.used // MEBIBYTE} MiB"
        return f"the store holds {much}, and Redis would answer no other client meanwhile"
    taken = asked(redis, lambda store: store.snapshot())
    return str(taken) if isinstance(taken, StoreError) else QueueSnapshot.of(taken, redis.queue)


# Checks the invariants of a queue. They hold at every moment, whatever process has died. If one is broken, Holdfast has
# a bug, or another program has changed the keys.

PARKED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.SUSPENDED})
OWNING = frozenset({WorkerStage.LIVE, WorkerStage.DRAINING})  # in these states a worker may have tasks
SHOWN = 3

_OWN_ENTRY = re.compile(r'^\{"_b":"([^:"]+):(\d+)",')
_CHECK = Check("queue", "invariants")
_FIX = "supervisor recover puts lost tasks back; if no other program writes to these keys, please report it"


def judge_invariants(snapshot: QueueSnapshot | str) -> Iterator[Finding]:
    if isinstance(snapshot, str):
        yield _CHECK.note(f"not compared: {snapshot}", "supervisor doctor --deep compares them at a quiet hour")
        return
    breaches = [breach for rule in _RULES for breach in rule(snapshot)]
    if breaches:
        yield _CHECK.problem(some(breaches, SHOWN, "; "), _FIX)
    else:
        tasks = counted(len(snapshot.tasks), "task")
        yield _CHECK.ok(f"{tasks} and {counted(len(snapshot.workers), 'worker')} agree with each other")


def _one_owner(snapshot: QueueSnapshot) -> Iterator[str]:
    """Check that a running task belongs to the worker in its record, with the same claim."""
    held = {task: (worker, claim) for worker, task, claim in snapshot.owned}
    for task_id, task in snapshot.tasks.items():
        named = (task.get("owner", ""), task.get("claim", "")) if task.get("state") == State.WORKING else None
        if named != held.get(task_id):
            yield f"task {task_id} is {task.get('state')}, but the worker that runs it is not the one in its record"
    for task_id in held.keys() - snapshot.tasks.keys():
        yield f"task {task_id} runs and has no record"


def _owner_lives(snapshot: QueueSnapshot) -> Iterator[str]:
    workers = snapshot.workers
    for worker in dict.fromkeys(worker for worker, _, _ in snapshot.owned):
        if (state := workers.get(worker, {}).get("state", "unknown")) not in OWNING:
            yield f"worker {worker} is {state} and still has tasks"


def _indexed(snapshot: QueueSnapshot) -> Iterator[str]:
    """Check that a task is in the index of its state, and in no other index."""
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
    """Check that a submitted task has an entry in its lane. Suspects, and tasks that wait outside of the list for a
    limit or a handler, need none."""
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


# Finds orphan keys: parts of a task, worker or schedule that is gone. They would take memory for ever.

OF_TASKS = (
    "op",
    "history",
    "checkpoint",
    "pending",
    "left",
    "messages",
    "trail",
    "ties",
    "children",
    "retrying",
    "steps",
    "parents",
    "parts",
)

_ORPHANS = Check("queue", "orphan keys")
_KINDS = tuple(name for name in KEY_NAMES.values() if name.endswith((":", "@")) and not name.startswith(":"))
_SINGLE = frozenset(KEY_NAMES.values()) - frozenset(_KINDS)


def judge_orphan_keys(snapshot: QueueSnapshot | str, prefix: str) -> Iterator[Finding]:
    """Make the findings about orphan keys, which belong to no existing task, worker, schedule or the like. `prefix`:
    the beginning of all keys of this queue."""
    if isinstance(snapshot, str):
        return  # judge_invariants reports that there is no snapshot
    owners = _owners(snapshot)
    orphans = [key for key in snapshot.keys if key not in snapshot.expiring and _is_orphan(key, owners)]
    unknown = [key for key in snapshot.keys if key not in _SINGLE and not key.startswith(_KINDS)]
    if orphans:
        text = f"{counted(len(orphans), 'key belongs', 'keys belong')} to nothing: {some(sorted(orphans), SHOWN)}"
        yield _ORPHANS.warning(text, f"please report this bug; to free the memory: UNLINK '{prefix}{orphans[0]}' …")
    if unknown:
        text = f"{counted(len(unknown), 'key', 'keys')} unknown to this version: {some(sorted(unknown), SHOWN)}"
        yield _ORPHANS.note(text, "a later version of Holdfast may have made them; if not, remove them")
    if not orphans and not unknown:
        yield _ORPHANS.ok(f"none among {counted(len(snapshot.keys), 'key')}")


def _owners(snapshot: QueueSnapshot) -> Mapping[str, Collection[str]]:
    """The names of the owners that exist, by the kind of key that belongs to such an owner. Kinds without an owner, and
    kinds that expire, are left out."""
    owners: dict[str, Collection[str]] = {
        kind: snapshot.keys.get(index, ()) for index, kinds in _INDEXED.items() for kind in kinds
    }
    tasks, workers = snapshot.tasks, snapshot.workers
    owners["outcome"] = {end for parents in dict(snapshot.of_kind("parents:")).values() for end in _ends(parents)}
    owners["given"] = dict(snapshot.of_kind("outcome:"))
    return owners | dict.fromkeys((*OF_TASKS, "result"), tasks) | dict.fromkeys(("worker", "control"), workers)


def _ends(parents: Mapping[str, str]) -> Iterator[str]:
    """The ends of the names of keys that hold results of parents. `parents`: a task's record of its parents."""
    for parent, noted in parents.items():
        _, _, ended_ms = noted.partition(" ")
        yield f"{parent}:{ended_ms}"


_INDEXED: Mapping[str, tuple[str, ...]] = {  # from an index of owners to the kinds of keys that belong to them
    "deaths": ("death",),
    "errors": ("error", "error_tasks"),
    "webhooks": ("webhook",),
    "batches": ("batch", "batch_tasks"),
    "schedules": ("schedule", "fires"),
    "handlers": ("names",),
    "catalog_digests": ("catalog",),
    "conversations": ("conversation",),
    "abouts": ("about", "added", "feedback"),
}


_CUT: Mapping[str, Callable[[str], str]] = {
    "result": lambda name: name.rpartition(":")[0],
    "worker": lambda name: name.partition(":")[0],
    "conversation": lambda name: name.removesuffix(":tasks"),
    "schedule": lambda name: name.removesuffix(":history"),
}


def _is_orphan(key: str, owners: Mapping[str, Collection[str]]) -> bool:
    kind, _, name = key.partition(":")
    if key in _SINGLE or kind not in owners:
        return False
    return not any(
        each in owners[kind] for each in (name, _CUT.get(kind, str)(name))
    )  # the whole name is tried, too, because a schedule may be called `x:history`
