"""All that the parent knows, as one frozen value, and the small steps every decision is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from holdfast.ipc.channel import Died
from holdfastd.core.commands import Command
from holdfastd.core.policy import SupervisionPolicy
from holdfastd.core.slots import CLAIMING, Child, ChildKind, Seat, Slot

RECENT = 50
NAMED = 8  # tasks kept of each death


@dataclass(frozen=True, slots=True)
class Death:
    """One line of the service's history. `status`: exit code, or minus the signal; `running`: the first tasks that
    it had when it last spoke; `lived` in seconds."""

    at: float
    slot: Slot
    pid: int
    incarnation: str
    cause: str
    detail: str
    status: int
    running: tuple[str, ...]
    lived: float
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Breaker:
    """Young deaths of workers in the last minute; once open, one worker at a time probes from `due` on."""

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
    """A generation of workers is being introduced. `before`: the one that goes on serving if it fails; `proven`: one of
    the new generation has been ready."""

    before: int
    proven: bool = False
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Reloaded:
    """How the last reload ended; `error` is empty if its generation serves now, `traceback` the user's if any."""

    generation: int
    error: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The service is ending: until when workers may work, how often it was signalled, and what it will exit with."""

    cancel_at: float
    deadline: float
    code: int
    signals: int = 1
    killing: bool = False
    last_words: str = ""  # shown when all is over


@dataclass(frozen=True, slots=True)
class Burst:
    """Tasks that had ended `before`, by state; how many looks in a row have found nothing left."""

    before: Mapping[str, int]
    empty: int = 0


@dataclass(frozen=True, slots=True)
class Untold:
    """A death that no steward has acknowledged yet; `cut_off` of its tasks are counted already."""

    message: Died
    cut_off: int = 0


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Suspects that may start in the lanes served here, as the steward told at `told_at`; `alone`: those of them that
    run while no other quarantine worker does. `quiet`: that this host is to claim nothing, and what ends it, in words.
    `no_room`: why the host could not hold all that were wanted when it was last measured. `failed`: why the last one
    could not start.
    """

    startable: int = 0
    alone: int = 0
    quiet: str = ""
    told_at: float = -math.inf
    measured_at: float = -math.inf
    no_room: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class View:
    policy: SupervisionPolicy
    target: int
    ticked: float
    seats: Mapping[Slot, Seat] = field(default_factory=dict[Slot, Seat])
    reached: frozenset[ChildKind] = frozenset()  # kinds of which one has been ready
    breaker: Breaker = field(default_factory=Breaker)
    quarantine: Quarantine = field(default_factory=Quarantine)
    untold: Mapping[str, Untold] = field(default_factory=dict[str, Untold])
    told_at: float = 0.0
    boot_failures: Mapping[ChildKind, int] = field(default_factory=dict[ChildKind, int])
    shown: str = ""  # the last traceback printed
    generation: int = 0  # what workers are forked as; those of an earlier one are to be replaced
    generations: int = 0  # the latest that was ever asked for
    reload: Reload | None = None
    reloaded: Reloaded | None = None
    stopping: Stopping | None = None
    burst: Burst | None = None
    cut_off: int = 0
    deaths: tuple[Death, ...] = ()
    died: int = 0
    to_dump: tuple[Slot, ...] = ()  # who is still to show its stacks, the next one at `dump_at`
    dump_at: float = 0.0
    over: int | None = None

    def child(self, slot: Slot) -> Child | None:
        seat = self.seats.get(slot)
        return seat if isinstance(seat, Child) else None

    def living(self, kind: ChildKind) -> Iterator[Child]:
        return (seat for seat in self.seats.values() if isinstance(seat, Child) and seat.slot.kind is kind)

    def claiming(self) -> Iterator[Child]:
        """Workers of the pool and of quarantine."""
        return (child for kind in CLAIMING for child in self.living(kind))

    def workers(self) -> Iterator[tuple[Slot, Seat]]:
        return ((slot, seat) for slot, seat in self.seats.items() if slot.kind is ChildKind.WORKER)


Step = tuple[View, tuple[Command, ...]]


def seated(view: View, slot: Slot, seat: Seat) -> View:
    return replace(view, seats={**view.seats, slot: seat})


def removed(view: View, *slots: Slot) -> View:
    return replace(view, seats={slot: seat for slot, seat in view.seats.items() if slot not in slots})


def known(view: View, slot: Slot, incarnation: str) -> Child | None:
    """The child an event speaks of, unless another life has begun in its slot."""
    child = view.child(slot)
    return child if child is not None and child.incarnation == incarnation else None
