"""Slows down guesses of tokens: a few wrong ones from one address are free, then each costs a wait."""

from __future__ import annotations

from dataclasses import dataclass, field

FREE = 5  # wrong tokens in a row without a wait
WAIT = 10.0  # seconds that each further one costs
MOST = 10_000  # addresses that are remembered; the one that has failed longest ago is forgotten first


@dataclass(slots=True)
class LoginAttempts:
    """Moments are seconds of one steady clock, which the caller reads."""

    _failed: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])

    def wait(self, address: str, now: float) -> float:
        """Seconds until this address may try again; 0: now."""
        wrong, last = self._failed.get(address, (0, now))
        return max(0.0, last + WAIT - now) if wrong >= FREE else 0.0

    def failed(self, address: str, now: float) -> None:
        wrong, last = self._failed.pop(address, (0, now))
        forgiven = int((now - last) / WAIT)
        self._failed[address] = (max(0, wrong - forgiven) + 1, now)
        while len(self._failed) > MOST:
            self._failed.pop(next(iter(self._failed)))

    def succeeded(self, address: str) -> None:
        self._failed.pop(address, None)
