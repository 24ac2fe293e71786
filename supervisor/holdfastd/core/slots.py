"""Slots and their seats: vacant, forking, or a child. All values are frozen.

A slot outlives its children: each child in it is an incarnation with its own name. A Record carries the counts that
survive a death (early deaths in a row, restarts) from seat to seat.
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


CLAIMING = frozenset({ChildKind.WORKER, ChildKind.QUARANTINE})  # kinds that run tasks


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
    """The reason why a child is made to leave."""

    STOP = "stop"
    SCALE = "scaled down"
    RELOADED = "reloaded"
    RECYCLED = "recycled"
    HUNG = "silent"
    BOOT = "not ready in time"
    SIGSTOPPED = "not heard of since"


# A successor that is ready already replaces the child, which has no deadline for its tasks.
REPLACED = frozenset({Why.RELOADED, Why.RECYCLED})
GIVEN_UP = REPLACED | {Why.STOP, Why.SCALE}  # the seat of such a child is removed


class StopStage(IntEnum):
    """The stages through which a leaving child is ended."""

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
    """The stage of a leaving child, and the absolute times at which the next stages begin."""

    why: Why
    stage: StopStage
    cancel_at: float
    abort_at: float
    kill_at: float


@dataclass(frozen=True, slots=True)
class BootError:
    """The error that a child reported before it was ready."""

    code: int
    error: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Record:
    """Counts of a slot: early deaths in a row, and how often it was filled again."""

    failures: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Vacant:
    """No child; the seat is filled at `due`."""

    due: float
    record: Record = field(default_factory=Record)


@dataclass(frozen=True, slots=True)
class Forking:
    """A fork was ordered; its result is not known yet."""

    record: Record
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Child:
    """One incarnation. `last_message_at`: the time of its last message; `settled`: tasks settled since its start;
    `generation`: of the code that it runs; `recycle_reason`: why it asks to be replaced, or empty;
    `held`: the tasks that it has drained without giving them back."""

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
    leaving: Leaving | None = None

    @property
    def phase(self) -> ChildPhase:
        if self.leaving is not None:
            return ChildPhase.STOPPING if self.leaving.stage >= StopStage.ABORTING else ChildPhase.DRAINING
        return ChildPhase.BOOTING if self.ready_at is None else ChildPhase.READY

    @property
    def boot_text(self) -> str:
        """The error that it reported, with its traceback; empty if it reported none."""
        error = self.boot_error
        return "\n".join(filter(None, (error.traceback.rstrip(), error.error))) if error else ""

    def silence(self, now: float) -> float:
        """Seconds since the last message; 0 for the store, which sends none."""
        return 0.0 if self.slot.kind is ChildKind.STORE else now - self.last_message_at


Seat = Vacant | Forking | Child


# The timeouts and limits of supervision, in seconds; those without a setting are constants here.

SILENCE = 5.0  # a child that is silent this long has its stacks dumped, and a worker what it has not begun put back
ABORT_GRACE = 2.0  # from SIGABRT to SIGKILL
SIGSTOP_LIMIT = 30.0  # a child that was stopped and continued must report within this time
STEWARD_LEAVE = 5.0  # for the last acknowledgements
STORE_LEAVE = 10.0  # for the store to write what it holds
CANCEL_SHARE = 0.1  # of the drain timeout, kept for cancelled handlers to save a checkpoint
CANCEL_MOST = 5.0
ROUND = 1.0  # how often children report, and how often the parent looks
LATE = 5.0  # after a longer delay of the parent itself no silence is judged
RESEND_DEATHS_EVERY = 10.0  # an unacknowledged death is sent again
QUARANTINE_SHARE = 4  # at most a quarter of the pool's size runs suspects beside it
SUSPECTS_FRESH = 5.0  # a number of suspects is ignored when the steward has not repeated it for this long
BATCH = 16  # forks in one round, so that signals and clients are served in between


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
        """Seconds before the end of a drain at which handlers are cancelled."""
        return min(CANCEL_MOST, self.drain_timeout * CANCEL_SHARE)
