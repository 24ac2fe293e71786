"""The events that the core handles. Random and measured values are part of the event, so the core is a pure function.

`jitter` is uniform in -1..1.
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
    """A child has sent this message."""

    slot: Slot
    incarnation: str
    message: FromChild


@dataclass(frozen=True, slots=True)
class StoreOpened:
    """The embedded store accepts connections."""


@dataclass(frozen=True, slots=True)
class ChildStopped:
    """A child was stopped by a signal (SIGSTOP)."""

    slot: Slot
    incarnation: str


@dataclass(frozen=True, slots=True)
class Exited:
    """A child was reaped. `status`: exit code, or minus the signal; `out_of_memory`: the kernel has killed for memory
    just now; `peak_bytes`: the peak resident memory of the child, or of a process that it had waited for."""

    slot: Slot
    incarnation: str
    status: int
    out_of_memory: bool
    jitter: float
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Signalled:
    """The parent itself received this signal. `host`: measured where the signal asks for more workers. `terminal_gone`:
    the terminal from which the service was started has been closed."""

    number: int
    host: Host = BOUNDLESS
    terminal_gone: bool = False


@dataclass(frozen=True, slots=True)
class ScaleAsked:
    workers: int
    host: Host = BOUNDLESS


@dataclass(frozen=True, slots=True)
class StacksWanted:
    """A client of the control socket wants the stacks of this child, which are written to its memory."""

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
    """The settings of this generation were read, or `error` says why they cannot be used."""

    generation: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The control socket asks to stop: like a first SIGTERM; ignored if the service is stopping already. `now`: cancel
    handlers, like a second SIGTERM; ignored if they are canceled already."""

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
