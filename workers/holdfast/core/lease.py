"""A worker's view of whether its lease is still valid. The length of the lease is the setting `lease`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    """Seconds on a clock that goes on while the host sleeps. `renewed_at`: the moment the last renewal was *sent*,
    as the store counts from no earlier one."""

    seconds: float
    renewed_at: float

    def holds(self, now: float) -> bool:
        """True until the lease ends. After that no task is claimed until a renewal was answered: the host may have
        been suspended."""
        return now - self.renewed_at < self.seconds

    def seconds_left(self, now: float) -> float:
        return max(0.0, self.renewed_at + self.seconds - now)

    @property
    def interval(self) -> float:
        """Seconds between renewals: two may be lost."""
        return self.seconds / 3
