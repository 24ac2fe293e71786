"""The state of the parent as one frozen value, and the small functions that change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from holdfast.ipc.channel import Died
from holdfastd.core.commands import Command
from holdfastd.core.death import Cause
from holdfastd.core.slots import CLAIMING, Child, ChildKind, Seat, Slot, SupervisionPolicy

RECENT = 50


@dataclass(frozen=True, slots=True)
class Death:
    """One death in the service's history. `at`: monotonic seconds; `child`: its last state; `status`: the exit code, or
    the negative number of the signal."""

    at: float
    child: Child
    cause: Cause
    status: int
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Breaker:
    """The circuit breaker of workers. `deaths`: times of their early deaths in the last minute. While it is open, one
    worker at a time is started as a probe, from `due` on."""

    deaths: tuple[float, ...] = ()
    cause: str = ""
    probe: Slot | None = None
    failures: int = 0
    due: float = 0.0

    @property
    def is_open(self) -> bool:
        return bool(self.cause)


@dataclass(frozen=True, slots=True)
class Reload:
    """A reload that is not over. `before`: the generation that goes on if the new one fails. `proven`: a worker of the
    new generation has been ready. `deaths`: its workers that died before they were ready."""

    before: int
    proven: bool = False
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The result of the last reload. `error`: why it failed; empty if its generation serves now. `traceback`: the
    traceback of the handler's import, if the import failed."""

    generation: int
    error: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The end of the service. `cancel_at`, `deadline`: when handlers are cancelled, and when workers must have ended.
    `code`: the exit status. `signals`: how many stop signals have arrived."""

    cancel_at: float
    deadline: float
    code: int
    signals: int = 1
    killing: bool = False
    closing_line: str = ""  # printed when the service is over


@dataclass(frozen=True, slots=True)
class Burst:
    """The state of `start --burst`, which ends when no task is left. `before`: how many tasks had ended before this
    start, by state. `empty`: how many successive checks have found no task left."""

    before: Mapping[str, int]
    empty: int = 0


@dataclass(frozen=True, slots=True)
class UnacknowledgedDeath:
    """A death that no steward has acknowledged yet. `while_stopping`: the worker died after the order to stop.
    `cut_off`: how many of the worker's tasks the view has counted as cut off."""

    message: Died
    while_stopping: bool
    cut_off: int = 0


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The parent's knowledge of suspects and quarantine workers. `startable`: how many suspects may start in the lanes
    served here, as the steward reported at `counted_at`. `alone`: how many of these may run only while no other
    quarantine worker runs a suspect. `quiet`: the operator's order (quiet or halt) because of which this host claims no
    tasks, in words. `no_room`: why the host could not hold all wanted workers when it was last measured. `failed`: why
    the last quarantine worker could not start."""

    startable: int = 0
    alone: int = 0
    quiet: str = ""
    counted_at: float = -math.inf
    measured_at: float = -math.inf
    no_room: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class NotShared:
    """A generation whose workers import the handler themselves. `why`: the reason why the loader cannot import it for
    them."""

    generation: int
    why: str


@dataclass(frozen=True, slots=True)
class View:
    policy: SupervisionPolicy
    target: int
    ticked: float
    seats: Mapping[Slot, Seat] = field(default_factory=dict[Slot, Seat])
    ready_kinds: frozenset[ChildKind] = frozenset()  # kinds of children of which one has been ready
    breaker: Breaker = field(default_factory=Breaker)
    quarantine: Quarantine = field(default_factory=Quarantine)
    unacknowledged: Mapping[str, UnacknowledgedDeath] = field(default_factory=dict[str, UnacknowledgedDeath])
    deaths_sent_at: float = 0.0
    boot_failures: Mapping[ChildKind, int] = field(default_factory=dict[ChildKind, int])
    last_printed: str = ""  # the last traceback printed
    generation: int = 0  # the generation of new workers; workers of earlier generations are replaced
    generations: int = 0  # the number of the last generation that was requested
    reload: Reload | None = None
    reloaded: Reloaded | None = None
    not_applied: tuple[str, ...] = ()  # settings that have changed, as the last reload read them, and need a restart
    not_shared: NotShared | None = None
    stopping: Stopping | None = None
    burst: Burst | None = None
    cut_off: int = 0
    deaths: tuple[Death, ...] = ()
    death_count: int = 0
    death_causes: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])  # by kind and cause
    to_dump: tuple[Slot, ...] = ()  # children that have to write their stacks, the next one at `dump_at`
    dump_at: float = 0.0
    over: int | None = None

    def child(self, slot: Slot) -> Child | None:
        seat = self.seats.get(slot)
        return seat if isinstance(seat, Child) else None

    def children(self) -> Iterator[Child]:
        return (seat for seat in self.seats.values() if isinstance(seat, Child))

    def living(self, kind: ChildKind) -> Iterator[Child]:
        return (child for child in self.children() if child.slot.kind is kind)

    def claiming(self) -> Iterator[Child]:
        """The living workers that claim tasks: those of the pool and the quarantine workers."""
        return (child for kind in CLAIMING for child in self.living(kind))

    def serving(self) -> int:
        """The number of workers that take tasks now."""
        return sum(child.ready_at is not None and child.leaving is None for child in self.living(ChildKind.WORKER))

    def workers(self) -> Iterator[tuple[Slot, Seat]]:
        return ((slot, seat) for slot, seat in self.seats.items() if slot.kind is ChildKind.WORKER)


Step = tuple[View, tuple[Command, ...]]


def seated(view: View, slot: Slot, seat: Seat) -> View:
    return replace(view, seats={**view.seats, slot: seat})


def removed(view: View, *slots: Slot) -> View:
    return replace(view, seats={slot: seat for slot, seat in view.seats.items() if slot not in slots})


def known(view: View, slot: Slot, incarnation: str) -> Child | None:
    """The child with this incarnation in this slot; None if the slot no longer holds this child."""
    child = view.child(slot)
    return child if child is not None and child.incarnation == incarnation else None
