"""The values that pass between a worker and the store: deliveries one way, settlements and emitted parts the other.

Payloads (operations, results, checkpoints) are bytes; nobody reads them on the way. A worker makes several of these for
every task. They are structs, because a struct is made and copied much faster than a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from holdfast.core.batches import NO_BATCH, DeliveredBatch
from holdfast.core.task_states import State

SendPull = Callable[[int, int], bool]  # sends a pull, by its number and its slots; False if it cannot be sent any more


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One hand-over of a turn to a worker. `operation` is the raw envelope; times are milliseconds. `history`: the
    operation and the result of each turn before this one, oldest first; `earlier`: the number of such items that the
    delivery leaves out. `waited_ms`: how long the task waited after it could be claimed. `run`: the number of this run
    of the task, from 1; a hand-over that was given back before it had begun does not count. `is_child`: the task was
    submitted after other tasks. `has_steps`: this is not the first turn, and earlier turns have recorded steps.
    `batch`: the task's place in a batch."""

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
    batch: DeliveredBatch = NO_BATCH

    @property
    def incarnation(self) -> str | None:
        """The incarnation of the worker that holds the delivery; None if the claim names none."""
        parts = self.claim.split(":")
        return parts[1] if len(parts) == 3 else None


class Settle(StrEnum):
    """A way in which a delivery ends. Each of the first six values commits the turn: it is the one recorded outcome of
    the turn."""

    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    EXHAUSTED = "exhausted"  # attempts used up: failed, and listed among the dead letters
    INPUT_REQUIRED = "input-required"
    AUTH_REQUIRED = "auth-required"
    UNREADABLE = "unreadable"  # the worker could not read the operation: rejected and set aside
    RETRY = "retry"
    RELEASE = "release"  # begun, and given back unfinished
    RETURNED = "returned"  # not begun, and given back: no run is counted
    DEFER = "defer"  # no room for its handler in this worker now: not begun, not charged, due again after a delay
    SUSPENDED = "suspended"
    SLEEP = "sleep"  # begun, and due again when its sleep ends, which is recorded as a step


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The report of a delivery's end. `delay_ms`: the delay of a retry or a deferral; for a sleep, the moment of its
    end by the store's clock. `reason` is a short line for the task's history. `error`: the text of the kind of error
    with which the run failed (see core/error_kinds.py). `progress`: the last progress of the run, if the store may not
    have it yet."""

    task_id: str
    claim: str
    kind: Settle
    result: bytes = b""
    delay_ms: int = 0
    reason: str = ""
    checkpoint: bytes | None = None
    error: str = ""
    progress: str = ""


class Verdict(StrEnum):
    """The store's answer to a settlement."""

    OK = "OK"
    ALREADY = "ALREADY"  # the store has applied this settlement before
    LOST = "LOST"  # the claim is no longer the task's latest: nothing was recorded
    GONE = "GONE"  # no such task any more


class Standing(StrEnum):
    """The store's view of the incarnation that calls."""

    OK = "OK"
    DOUBTED = "DOUBTED"  # as OK, but nobody claims until the steward has compared the store with its ledger
    QUIET = "QUIET"  # as OK, but its host, or every host, must claim nothing
    APART = "APART"  # as OK, but a suspect runs alone in this process, or runs next: the worker ignores bells
    FIRES = "FIRES"  # as OK, but nothing was claimed: the worker creates tasks of CONTINUE schedules, then asks again
    REPLAY = "REPLAY"  # this request was answered before, and the store repeats that answer
    STALE = "STALE"  # a lower request than the last one answered
    DEAD = "DEAD"  # tombstoned: cancel everything and exit
    UNKNOWN = "UNKNOWN"  # the store has lost the incarnation: register again
    TAKEN = "TAKEN"  # register only: another process has this incarnation


class Pulled(msgspec.Struct, frozen=True):
    """The answer to one pull. `backlog`: the number of entries that the lanes still hold. `inbox`: the number of
    entries that are too large for the store to read, so this worker must read them and call `admit`. `fires`: the ids
    of CONTINUE schedules whose task has ended, so the worker creates their next task."""

    standing: Standing
    verdicts: tuple[Verdict, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    backlog: int = 0
    inbox: int = 0
    fires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holding:
    """A delivery that a worker reports in `renew`: it still holds the delivery, or has a result that is not settled
    yet."""

    task_id: str
    claim: str
    progress: str = ""
    checkpoint: bytes | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """The answer to a renewal. `lost`: deliveries that the worker holds but no longer owns, as task id and claim; the
    worker cancels them. `returned`: the number of tasks that the worker owned but did not hold; the store has put them
    back. `vouched_ago_ms`: milliseconds since a steward last vouched for this incarnation (None: never). `waiting`: 0
    if no lane has an entry to claim. `quiet`: the worker's host must claim nothing. `to_pause`: held tasks that must
    pause, repeated until they end, because a hint may be lost. `request`: the number of the last request that the store
    has run."""

    standing: Standing
    lost: tuple[tuple[str, str], ...] = ()
    returned: int = 0
    vouched_ago_ms: int | None = None
    waiting: int = 0
    quiet: bool = False
    to_pause: tuple[tuple[str, str], ...] = ()
    request: int = 0


class HintKind(StrEnum):
    """The kind of event that has ended a worker's blocking wait."""

    BELL = "bell"  # a lane that it serves may have tasks
    LOOK = "look"  # something else has changed: ask the store
    WAKE = "wake"  # the worker itself has ended the wait
    CANCEL = "cancel"  # stop this task
    PAUSE = "pause"  # stop this task, because it is to pause
    RETURN = "return"  # give back the tasks that it has claimed and not begun


@dataclass(frozen=True, slots=True)
class Hint:
    """The end of a worker's blocking wait. `task_id` and `claim` are set for CANCEL and PAUSE only."""

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
    the run that emitted the part. If this number is higher than in the part before, the task began anew. `at_ms`: when
    the part reached the store, by the store's clock.
    """

    position: int
    run: int
    value: Any
    at_ms: int


class EmittedBatch(msgspec.Struct, frozen=True, gc=False):
    """Parts of one run on their way to the store. `number`: the number of the first of these parts in its run, from 1.
    `values`: a JSON array."""

    task_id: str
    claim: str
    run: int
    number: int
    count: int
    values: bytes


class EmitVerdict(StrEnum):
    """The store's answer to a batch of parts."""

    OK = "OK"
    LOST = "LOST"  # the claim is no longer the task's latest: nothing was kept
    DAMAGED = "DAMAGED"  # the key of the task's parts holds something else


@dataclass(frozen=True, slots=True)
class PartsPage:
    """The parts of a task behind a position. `state`: the state of the task; None if it is unknown. `last`: the
    position of the last kept part. `is_whole`: no more parts follow these."""

    state: State | None
    last: int
    is_whole: bool
    parts: tuple[EmittedPart, ...]


def read_batch(text: bytes) -> list[EmittedPart]:
    """Read parts from a text of the store. Raises ValueError if Holdfast did not write the text."""
    head, _, values = text.partition(b"\n")
    last, _, run, _, at_ms = map(int, head.split()[:5])
    read = _values(values)
    first = last - len(read) + 1
    return [EmittedPart(first + place, run, value, at_ms) for place, value in enumerate(read)]
