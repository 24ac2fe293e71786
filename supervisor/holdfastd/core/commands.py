"""The commands that the core gives to the rest of the parent, which executes them without a decision of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.ipc.channel import FromParent
from holdfastd.core.slots import Child, Slot


@dataclass(frozen=True, slots=True)
class Fork:
    """Fork a child for this slot. The event Forked or ForkFailed answers it. `first`: no child of its kind has been
    ready before. `by_loader`: the loader forks the child, which then shares the loader's import of the handler."""

    slot: Slot
    first: bool
    generation: int = 0
    by_loader: bool = False


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Read the settings again, for workers of this generation. The event SettingsRead answers it. `needed`: the earlier
    generations from which workers may still be forked."""

    generation: int
    needed: frozenset[int]


@dataclass(frozen=True, slots=True)
class MeasureHost:
    """Measure the resources that this host has left. The event HostMeasured answers it."""


@dataclass(frozen=True, slots=True)
class Send:
    """Put this message on the child's channel."""

    slot: Slot
    message: FromParent


@dataclass(frozen=True, slots=True)
class Kill:
    """Send this signal to the child, but not to its process group."""

    slot: Slot
    signal: int


@dataclass(frozen=True, slots=True)
class Log:
    """Write this event to the log."""

    level: str
    event: str
    fields: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def about(cls, child: Child, level: str, event: str, **more: object) -> Log:
        """A log event with the slot and the process id of this child."""
        return cls(level, event, {"slot": str(child.slot), "pid": child.pid, **more})


@dataclass(frozen=True, slots=True)
class Print:
    """Print this text for the person who started the service: the boot error of a child with its traceback, or the line
    that says why the service ended."""

    text: str


Command = Fork | ReadSettings | MeasureHost | Send | Kill | Log | Print


# The lines that a service prints for the person who started it.


class Announce(Protocol):
    """The type of a function that prints one line on standard error. `level`: `info`, or `error` if the service ends or
    cannot start."""

    def __call__(self, text: str, level: str = "info") -> None: ...
