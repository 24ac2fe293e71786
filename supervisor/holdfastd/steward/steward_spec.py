"""The arguments that a steward is started with."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from holdfast.core.quiet_hosts import HaltScope
from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class StewardSpec:
    """`first`: no steward of this parent was ready before, so the store must pass preflight or the service ends.
    `halt`: for a process that ends at halts, the number of the last halt at its start.
    `metrics`: the listening socket on which it serves metrics. `has_pool`: a supervisor runs it beside its workers."""

    settings: Settings
    first: bool
    halt: int | None = None
    metrics: socket.socket | None = None
    has_pool: bool = True

    @property
    def halts(self) -> HaltScope:
        """The halts during which this steward makes no fires."""
        return HaltScope(socket.gethostname(), self.halt or 0, ends=self.halt is not None)
