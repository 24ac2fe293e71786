"""How long an incarnation may believe that it is believed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    """Seconds on a clock that goes on while the host sleeps. `renewed_at` is when the last renewal was *sent*: the
    store cannot have counted from earlier."""

    seconds: float
    renewed_at: float

    def holds(self, now: float) -> bool:
        """Past its end nothing new is claimed until a renewal was answered: the host may have been suspended."""
        return now - self.renewed_at < self.seconds

    @property
    def interval(self) -> float:
        """Between renewals: two may be lost."""
        return self.seconds / 3
