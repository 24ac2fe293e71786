"""The arguments with which a steward is started."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from holdfast.core.quiet_hosts import HaltScope
from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class StewardSpec:
    """The facts that a steward needs. `first`: no steward of this parent has been ready yet, so the service ends if the
    store fails the preflight. `halt`: the number of the last halt when this process started, if the process ends at a
    halt; else None. `metrics`: the listening socket on which the steward serves metrics. `has_pool`: a supervisor runs
    the steward beside its workers."""

    settings: Settings
    first: bool
    halt: int | None = None
    metrics: socket.socket | None = None
    has_pool: bool = True

    @property
    def halts(self) -> HaltScope:
        """The halts during which this steward makes no tasks of schedules."""
        return HaltScope(socket.gethostname(), self.halt or 0, ends=self.halt is not None)
