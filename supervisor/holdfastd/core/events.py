"""What can happen to a parent. Everything random or measured travels in the event, so that the core stays a function.

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
class Heard:
    """A message of a child."""

    slot: Slot
    incarnation: str
    message: FromChild


@dataclass(frozen=True, slots=True)
class StoreOpened:
    """The embedded store accepts connections."""


@dataclass(frozen=True, slots=True)
class Halted:
    """Somebody stopped (SIGSTOP) this child."""

    slot: Slot
    incarnation: str


@dataclass(frozen=True, slots=True)
class Exited:
    """Reaped. `status`: exit code, or minus the signal; `out_of_memory`: the kernel has killed for memory just now;
    `peak_bytes`: the most memory it had resident, it or a process it had waited for."""

    slot: Slot
    incarnation: str
    status: int
    out_of_memory: bool
    jitter: float
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Signalled:
    """The parent itself received this signal. `host`: measured where it asks for more workers. `terminal_gone`: the
    terminal that the service was started from has been closed."""

    number: int
    host: Host = BOUNDLESS
    terminal_gone: bool = False


@dataclass(frozen=True, slots=True)
class ScaleAsked:
    workers: int
    host: Host = BOUNDLESS


@dataclass(frozen=True, slots=True)
class HostMeasured:
    """What this host has left for more processes."""

    host: Host


@dataclass(frozen=True, slots=True)
class ReloadAsked:
    """By a signal or the control socket: replace the workers by ones that import the handler anew."""


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """The settings of this generation have been read, or cannot be used."""

    generation: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class StopAsked:
    """By the control socket: as a first SIGTERM, and nothing when already stopping."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The end of every turn of the loop, at least once a second."""


Event = (
    Forked
    | ForkFailed
    | Heard
    | StoreOpened
    | Halted
    | Exited
    | Signalled
    | ScaleAsked
    | HostMeasured
    | ReloadAsked
    | SettingsRead
    | StopAsked
    | Tick
)
