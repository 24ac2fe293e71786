"""Slots and what sits in them: nobody yet, a fork under way, or a child. All values are frozen.

A slot outlives its children: each life in it is an incarnation with a name of its own, and what must survive a death
(how often it died young, how often it was filled again) travels from seat to seat as a Record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple


class ChildKind(StrEnum):
    """What a child is, in the order in which they are started."""

    STORE = "store"
    STEWARD = "steward"
    WATCHER = "watcher"
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


class Why(StrEnum):
    """Why a child is made to leave."""

    STOP = "stop"
    SCALE = "scaled down"
    RELOADED = "reloaded"
    RECYCLED = "recycled"
    HUNG = "silent"
    BOOT = "not ready in time"
    HALTED = "not heard of since"


# Replaced by a successor that is ready already: such a child may take its time with what it runs.
REPLACED = frozenset({Why.RELOADED, Why.RECYCLED})
GIVEN_UP = REPLACED | {Why.STOP, Why.SCALE}  # nobody follows in the seat of such a child


class StopStage(IntEnum):
    """How far a leaving child has been pressed."""

    ASKED = 0
    CANCELLING = 1
    ABORTING = 2
    KILLING = 3


class ChildPhase(StrEnum):
    """What users are shown."""

    BOOTING = "booting"
    READY = "ready"
    DRAINING = "draining"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Leaving:
    """A child on its way out: absolute times at which the next stages begin."""

    why: Why
    stage: StopStage
    cancel_at: float
    abort_at: float
    kill_at: float


@dataclass(frozen=True, slots=True)
class BootError:
    """What a child said of why it cannot start."""

    code: int
    error: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Record:
    """What a slot remembers: deaths before or just after ready in a row, and how often it was filled again."""

    failures: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Vacant:
    """Nobody; to be filled at `due`."""

    due: float
    record: Record = field(default_factory=Record)


@dataclass(frozen=True, slots=True)
class Forking:
    """A fork was ordered, its result is not known yet."""

    record: Record
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Child:
    """One life. `heard` is when it last spoke, `settled` counts since its birth; `generation`: of the code it runs;
    `worn`: why it asks to be replaced, or empty."""

    slot: Slot
    incarnation: str
    pid: int
    born: float
    heard: float
    record: Record
    generation: int = 0
    ready_at: float | None = None
    worn: str = ""
    running: tuple[str, ...] = ()
    settled: int = 0
    degraded: str = ""
    drained: bool = False
    dumped: bool = False
    halted_at: float | None = None
    boot_error: BootError | None = None
    leaving: Leaving | None = None

    @property
    def phase(self) -> ChildPhase:
        if self.leaving is not None:
            return ChildPhase.STOPPING if self.leaving.stage >= StopStage.ABORTING else ChildPhase.DRAINING
        return ChildPhase.BOOTING if self.ready_at is None else ChildPhase.READY


Seat = Vacant | Forking | Child
