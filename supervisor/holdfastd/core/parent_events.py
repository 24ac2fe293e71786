"""The events that the core handles. An event contains the random and measured values that the core needs, so the core
itself reads nothing.

`jitter` is uniform in -1..1. It varies the delay before the next fork.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.ipc.channel import FromChild
from holdfastd.core.capacity import BOUNDLESS, Host
from holdfastd.core.slots import Slot


@dataclass(frozen=True, slots=True)
class Forked:
    slot: Slot
    incarnation: str
    pid: int


@dataclass(frozen=True, slots=True)
class ForkFailed:
    slot: Slot
    error: str
    jitter: float


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """The child in this slot has sent this message."""

    slot: Slot
    incarnation: str
    message: FromChild


@dataclass(frozen=True, slots=True)
class StoreOpened:
    """The embedded store accepts connections now."""


@dataclass(frozen=True, slots=True)
class ChildStopped:
    """A child was stopped by a signal (SIGSTOP)."""

    slot: Slot
    incarnation: str


@dataclass(frozen=True, slots=True)
class Exited:
    """A child has died and was reaped. `status`: the exit code, or the negative number of the signal. `out_of_memory`:
    the kernel has just killed a process for lack of memory. `peak_bytes`: the peak resident memory of the child, or of
    a process that the child had waited for."""

    slot: Slot
    incarnation: str
    status: int
    out_of_memory: bool
    jitter: float
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Signalled:
    """The parent itself has received this signal. `host`: the measured resources, if the signal asks for more workers.
    `terminal_gone`: the terminal from which the service was started is closed."""

    number: int
    host: Host = BOUNDLESS
    terminal_gone: bool = False


@dataclass(frozen=True, slots=True)
class ScaleAsked:
    workers: int
    host: Host = BOUNDLESS


@dataclass(frozen=True, slots=True)
class StacksWanted:
    """A client of the control socket asks for the stacks of this child. The child writes them to its memory."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class HostMeasured:
    """The resources that this host has left for more processes."""

    host: Host


@dataclass(frozen=True, slots=True)
class ReloadAsked:
    """A signal or the control socket asks to replace the workers by new ones that import the handler again."""


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """The settings of this generation were read. `error`: why they cannot be used; empty if they can. `not_applied`:
    the names of changed settings that need a restart of the service."""

    generation: int
    error: str = ""
    not_applied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StopAsked:
    """A client of the control socket asks the service to stop, like a first SIGTERM. If the service stops already, this
    changes nothing. `now`: cancel handlers, like a second SIGTERM; never kill."""

    now: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """A turn of the event loop has ended; sent at least once a second."""


Event = (
    Forked
    | ForkFailed
    | MessageReceived
    | StoreOpened
    | ChildStopped
    | Exited
    | Signalled
    | ScaleAsked
    | StacksWanted
    | HostMeasured
    | ReloadAsked
    | SettingsRead
    | StopAsked
    | Tick
)
