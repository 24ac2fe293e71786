"""The values that pass between a worker and the store: deliveries one way, settlements and emitted parts the other.

Payloads (operations, results, checkpoints) are bytes that nothing on the way reads. A worker makes several of these for
every task. They are structs, because a struct is made and copied much faster than a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from holdfast.core.batches import DeliveredBatch
from holdfast.core.task_states import State

SendPull = Callable[[int, int], bool]  # sends a pull, by its number and its slots; False if it cannot be sent any more


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One hand-over of a turn to a worker. `operation` is the raw envelope; times are milliseconds. `history` ends with
    the last turn before this one, an operation and a result of each; `earlier`: the number of such items before them.
    `waited_ms`: the time since it could be claimed. `run`: the number of this run of the task, from 1; a hand-over that
    was given back before it had begun does not count. `is_child`: it was submitted after other tasks. `has_steps`: it
    is a later turn, and steps of the task are recorded. `batch`: its place in a batch."""

    task_id: str
    claim: str
    lane: str
    operation: bytes
    turn: int
    delivery: int
    attempts: int
    crashes: int
    max_attempts: int | None
    timeout_ms: int | None
    solo: bool
    checkpoint: bytes | None = None
    history: tuple[bytes, ...] = ()
    earlier: int = 0
    waited_ms: int = 0
    run: int = 1
    is_child: bool = False
    has_steps: bool = False
    batch: DeliveredBatch | None = None

    @property
    def incarnation(self) -> str | None:
        """The incarnation of the worker that has it; None if the claim names none."""
        parts = self.claim.split(":")
        return parts[1] if len(parts) == 3 else None


class Settle(StrEnum):
    """The end of a delivery. The first six commit the turn: its one recorded outcome."""

    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    EXHAUSTED = "exhausted"  # attempts used up: failed, and listed among the dead letters
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    UNREADABLE = "unreadable"  # the worker could not read the operation: rejected and set aside
    RETRY = "retry"
    RELEASE = "release"  # begun, and given back unfinished
    RETURNED = "returned"  # not begun, and given back: that counts as nothing
    DEFER = "defer"  # no room for its handler in this worker now: not begun, not charged, due again after a delay
    SUSPENDED = "suspended"
    SLEEP = "sleep"  # begun, and due again when its sleep ends, which is recorded as a step


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The report of a delivery's end. `delay_ms` counts for a retry or a deferral; for a sleep it is the time at
    which that ends, by the clock of the store. `reason` is a short line for the
    trail."""

    task_id: str
    claim: str
    kind: Settle
    result: bytes = b""
    delay_ms: int = 0
    reason: str = ""
    checkpoint: bytes | None = None


class Verdict(StrEnum):
    """The store's answer to a settlement."""

    OK = "OK"
    ALREADY = "ALREADY"  # a replay of one that was applied
    LOST = "LOST"  # the claim is no longer the task's latest: nothing was recorded
    GONE = "GONE"  # no such task any more


class Standing(StrEnum):
    """The store's view of the incarnation that calls."""

    OK = "OK"
    DOUBTED = "DOUBTED"  # as OK, but nobody claims until the steward has compared the store with its ledger
    QUIET = "QUIET"  # as OK, but its host, or all, were told to claim nothing
    APART = "APART"  # as OK, but a suspect runs alone in this process, or is to be the next: no bell is for it
    FIRES = "FIRES"  # as OK, but nothing was claimed: fires of schedules that go on come first, then ask again
    REPLAY = "REPLAY"  # this request was answered before; here is the same answer
    STALE = "STALE"  # a lower request than the last one answered
    DEAD = "DEAD"  # tombstoned: cancel everything and exit
    UNKNOWN = "UNKNOWN"  # the store lost it: register anew
    TAKEN = "TAKEN"  # register only: another process has this incarnation


class Pulled(msgspec.Struct, frozen=True):
    """The answer to one pull. `backlog`: the number of entries that the lanes still hold. `inbox`: the number of
    entries that are too large for the store to read, so this worker must admit them. `fires`: CONTINUE schedules whose
    task has ended."""

    standing: Standing
    verdicts: tuple[Verdict, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    backlog: int = 0
    inbox: int = 0
    fires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holding:
    """A delivery that a worker still holds (or has an unsettled result of), as `renew` reports it."""

    task_id: str
    claim: str
    progress: str = ""
    checkpoint: bytes | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """`lost`: deliveries that the worker holds but no longer owns, as task id and claim; it cancels them. `returned`:
    tasks that it owned but did not hold; the store has put them back. `vouched_ago_ms`: since a steward last vouched
    for this incarnation (None: never). `waiting`: 0 if no lane has an entry to claim. `quiet`: its host must claim
    nothing. `to_pause`: held tasks that must pause, repeated until they end, because a hint may be lost. `request`: the
    number of the last request that the store has run."""

    standing: Standing
    lost: tuple[tuple[str, str], ...] = ()
    returned: int = 0
    vouched_ago_ms: int | None = None
    waiting: int = 0
    quiet: bool = False
    to_pause: tuple[tuple[str, str], ...] = ()
    request: int = 0


class HintKind(StrEnum):
    """The reason why a worker's blocking wait has ended."""

    BELL = "bell"  # a lane that it serves may have tasks
    LOOK = "look"  # something else has changed: ask the store
    WAKE = "wake"  # the worker itself has ended the wait
    CANCEL = "cancel"  # stop this task
    PAUSE = "pause"  # likewise
    RETURN = "return"  # give back the tasks that it has claimed and not begun


@dataclass(frozen=True, slots=True)
class Hint:
    """The end of a worker's blocking wait; `task_id` and `claim` for CANCEL and PAUSE."""

    kind: HintKind
    task_id: str = ""
    claim: str = ""


# The parts of an answer that a running task emits, and the batches in which they go to the store.

LONGEST_PART = 65536  # bytes of JSON

_values = msgspec.json.Decoder(list[Any]).decode


@dataclass(frozen=True, slots=True)
class EmittedPart:
    """One value that a handler has emitted.

    `position` counts the parts of the task, from 1; a gap means that parts are not kept any more. `run`: the number of
    the run that emitted it. If it is higher than in the part before, the task began anew. `at_ms`: when it reached the
    store, by the store's clock.
    """

    position: int
    run: int
    value: Any
    at_ms: int


class EmittedBatch(msgspec.Struct, frozen=True, gc=False):
    """Parts of one run on their way to the store. `number`: the number of the first part in its run, from 1. `values`:
    a JSON array."""

    task_id: str
    claim: str
    run: int
    number: int
    count: int
    values: bytes


class EmitVerdict(StrEnum):
    """The store's answer to a batch."""

    OK = "OK"
    LOST = "LOST"  # the claim is no longer the task's latest: nothing was kept
    DAMAGED = "DAMAGED"  # the key of the task's parts holds something else


@dataclass(frozen=True, slots=True)
class PartsPage:
    """The parts of a task behind a position. `state` of the task; None for an unknown one. `last`: the position of the
    last kept part. `is_whole`: no more parts follow these."""

    state: State | None
    last: int
    is_whole: bool
    parts: tuple[EmittedPart, ...]


def read_batch(text: bytes) -> list[EmittedPart]:
    """Reads parts from a text of the store. Raises ValueError if Holdfast did not write the text."""
    head, _, values = text.partition(b"\n")
    last, _, run, _, at_ms = map(int, head.split()[:5])
    read = _values(values)
    first = last - len(read) + 1
    return [EmittedPart(first + place, run, value, at_ms) for place, value in enumerate(read)]
