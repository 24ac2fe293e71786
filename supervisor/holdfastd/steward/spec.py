"""What a steward is started with."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from holdfast.core.hosts import HaltScope
from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class StewardSpec:
    """`first`: no steward of this parent was ready before, so the store must pass preflight or the service ends.
    `halt`: the last halt that does not count for it, as it was started in spite of it; 0: all count."""

    settings: Settings
    first: bool
    halt: int = 0

    @property
    def halts(self) -> HaltScope:
        """The halts during which it makes no fires."""
        return HaltScope(socket.gethostname(), self.halt)
