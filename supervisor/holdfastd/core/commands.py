"""What the core asks the shell to do. Performing one never decides anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.ipc.channel import FromParent
from holdfastd.core.slots import Slot


@dataclass(frozen=True, slots=True)
class Fork:
    """Fill this slot; answered by Forked or ForkFailed. `first`: nobody has been ready in it before."""

    slot: Slot
    first: bool
    generation: int = 0


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Read the settings anew, for workers of this generation; answered by SettingsRead. `needed`: generations whose
    settings may still be forked with."""

    generation: int
    needed: frozenset[int]


@dataclass(frozen=True, slots=True)
class MeasureHost:
    """Measure what this host has left; answered by HostMeasured."""


@dataclass(frozen=True, slots=True)
class Send:
    """Put this message on the child's channel."""

    slot: Slot
    message: FromParent


@dataclass(frozen=True, slots=True)
class Kill:
    """Send this signal to the child alone."""

    slot: Slot
    signal: int


@dataclass(frozen=True, slots=True)
class Say:
    """Log this."""

    level: str
    event: str
    fields: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Show:
    """Print this for a human: a traceback, or the line the service ends with."""

    text: str


Command = Fork | ReadSettings | MeasureHost | Send | Kill | Say | Show
