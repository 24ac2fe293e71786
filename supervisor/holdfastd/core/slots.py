"""Slots and their seats. A slot is the place for one child process, for example `worker 3`. A seat is the present state
of a slot: vacant, forking, or a child. All values are frozen.

A slot outlives its children; a new child in it is a new incarnation. A Record keeps the counts that outlive a child:
early deaths in a row in this slot, and restarts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple


class ChildKind(StrEnum):
    """The kinds of children, in the order in which they are started."""

    STORE = "store"
    STEWARD = "steward"
    WATCHER = "watcher"
    WEB = "web"
    LOADER = "loader"
    WORKER = "worker"
    QUARANTINE = "quarantine"


CLAIMING = frozenset({ChildKind.WORKER, ChildKind.QUARANTINE})  # the kinds of children that run tasks


class Slot(NamedTuple):
    kind: ChildKind
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.number}" if self.kind in CLAIMING else str(self.kind)


STORE = Slot(ChildKind.STORE)
STEWARD = Slot(ChildKind.STEWARD)
WATCHER = Slot(ChildKind.WATCHER)
WEB = Slot(ChildKind.WEB)
LOADER = Slot(ChildKind.LOADER)


class Why(StrEnum):
    """The reason why the parent makes a child leave."""

    STOP = "stop"
    SCALE = "scaled down"
    RELOADED = "reloaded"
    RECYCLED = "recycled"
    HUNG = "silent"
    BOOT = "not ready in time"
    SIGSTOPPED = "not heard of since"


# For these reasons a successor replaces the child. The successor is ready before the child is asked to leave, so the
# child has no deadline for its tasks.
REPLACED = frozenset({Why.RELOADED, Why.RECYCLED})
GIVEN_UP = REPLACED | {Why.STOP, Why.SCALE}  # for these reasons the child's seat is removed


class StopStage(IntEnum):
    """The stages in which a child is ended, in their order."""

    ASKED = 0
    CANCELLING = 1
    ABORTING = 2
    KILLING = 3


class ChildPhase(StrEnum):
    """The state of a child as users see it."""

    BOOTING = "booting"
    READY = "ready"
    DRAINING = "draining"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Leaving:
    """The present stage of a leaving child, and the times at which the next stages begin (monotonic seconds)."""

    why: Why
    stage: StopStage
    cancel_at: float
    abort_at: float
    kill_at: float


@dataclass(frozen=True, slots=True)
class BootError:
    """The error because of which a child could not start, as the child reported it. `code`: its exit status."""

    code: int
    error: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Record:
    """Counts of a slot. `failures`: early deaths in a row; `restarts`: how often the slot was filled again."""

    failures: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Vacant:
    """The state of a slot without a child. A child may be forked for it from `due` on (monotonic seconds)."""

    due: float
    record: Record = field(default_factory=Record)


@dataclass(frozen=True, slots=True)
class Forking:
    """The state of a slot for which a fork was ordered. The result is not known yet."""

    record: Record
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Child:
    """The state of a slot with a living child, which is one incarnation. Times are monotonic seconds. `generation`: the
    generation of the code that it runs. `recycle_reason`: why the worker asks to be replaced, or empty. `running`: ids
    of the tasks it runs; `settled`: how many tasks it has settled. `held`: how many tasks a drained worker still had
    when it ended. `served` and `served_more`: the handlers of the message Ready."""

    slot: Slot
    incarnation: str
    pid: int
    born: float
    last_message_at: float
    record: Record
    generation: int = 0
    ready_at: float | None = None
    recycle_reason: str = ""
    running: tuple[str, ...] = ()
    settled: int = 0
    degraded: str = ""
    drained: bool = False
    held: int = 0
    dumped: bool = False
    silence_told_at: float = -math.inf  # to the steward
    sigstopped_at: float | None = None
    boot_error: BootError | None = None
    served: tuple[str, ...] = ()
    served_more: int = 0
    leaving: Leaving | None = None

    @property
    def phase(self) -> ChildPhase:
        if self.leaving is not None:
            return ChildPhase.STOPPING if self.leaving.stage >= StopStage.ABORTING else ChildPhase.DRAINING
        return ChildPhase.BOOTING if self.ready_at is None else ChildPhase.READY

    @property
    def boot_text(self) -> str:
        """The boot error that the child reported, with its traceback; empty if it reported none."""
        error = self.boot_error
        return "\n".join(filter(None, (error.traceback.rstrip(), error.error))) if error else ""

    def silence(self, now: float) -> float:
        """Seconds since the child's last message; 0 for the store, which sends no messages."""
        return 0.0 if self.slot.kind is ChildKind.STORE else now - self.last_message_at


Seat = Vacant | Forking | Child


# The timeouts and limits of supervision, in seconds. These constants have no setting.

SILENCE = 5.0  # after this silence a child's stacks are written, and a worker's tasks that have not begun are put back
ABORT_GRACE = 2.0  # from SIGABRT to SIGKILL
SIGSTOP_LIMIT = 30.0  # a child that was stopped and continued must report within this time
STEWARD_LEAVE = 5.0  # for the last acknowledgements
STORE_LEAVE = 10.0  # for the store to write its data to disk
CANCEL_SHARE = 0.1  # the last part of the drain timeout, in which cancelled handlers may save a checkpoint
CANCEL_MOST = 5.0
ROUND = 1.0  # how often children report, and how often the parent checks them
LATE = 5.0  # if the parent itself was delayed by more, it forgives the silence of its children
RESEND_DEATHS_EVERY = 10.0  # how often an unacknowledged death is sent again
QUARANTINE_SHARE = 4  # there are at most a quarter as many quarantine workers as workers of the pool
SUSPECTS_FRESH = 5.0  # the number of suspects is ignored if the steward has not repeated it for this long
BATCH = 16  # the most forks in one round, so that signals and clients are served in between


@dataclass(frozen=True, slots=True)
class SupervisionPolicy:
    """The limits that an operator can set, and which services the parent runs."""

    drain_timeout: float = 90.0
    hang_timeout: float = 60.0
    boot_timeout: float = 60.0
    embedded: bool = False
    watched: bool = False  # a watcher asks for reloads
    web: bool = False  # a web process serves the dashboard
    preloaded: bool = False  # a loader imports the handler once, and forks the workers

    @property
    def cancel_grace(self) -> float:
        """How many seconds before the end of a drain handlers are cancelled."""
        return min(CANCEL_MOST, self.drain_timeout * CANCEL_SHARE)
