"""Slows down guesses: a few wrong logins are free, then each costs a wait.

Wrong logins are counted for an account from one address, for an address, and for an account. One who has logged in to
an account from an address is slowed down there by the wrong logins of that pair alone: guesses by others lock nobody
out of a place that they have logged in from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holdfast_config.trusted_proxy import customer_of

FREE = 5  # wrong logins in a row without a wait, to one account from one address
FREE_OF_ADDRESS = 30
FREE_OF_ACCOUNT = 50
WAIT = 10.0  # seconds that each further one costs
MOST = 10_000  # of pairs, addresses and accounts that are remembered; what has failed longest ago is forgotten first


@dataclass(slots=True)
class LoginAttempts:
    """Moments are seconds of one steady clock, which the caller reads. `account` is empty for a token."""

    _failed: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict[tuple[str, str], tuple[int, float]])
    _known: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])

    def wait(self, address: str, now: float, account: str = "") -> float:
        """Seconds until this address may try again to log in to this account; 0: now."""
        place = customer_of(address)
        bounds = [((place, account), FREE)]
        if (place, account) not in self._known:
            bounds += [((place, "*"), FREE_OF_ADDRESS), (("*", account), FREE_OF_ACCOUNT)]
        return max(self._wait(key, free, now) for key, free in bounds)

    def failed(self, address: str, now: float, account: str = "") -> None:
        place = customer_of(address)
        for key in ((place, account), (place, "*"), ("*", account)):
            wrong, last = self._failed.pop(key, (0, now))
            forgiven = int((now - last) / WAIT)
            self._failed[key] = (max(0, wrong - forgiven) + 1, now)
        _forget(self._failed)

    def succeeded(self, address: str, account: str = "") -> None:
        pair = (customer_of(address), account)
        self._failed.pop(pair, None)
        self._known.pop(pair, None)
        self._known[pair] = None
        _forget(self._known)

    def _wait(self, key: tuple[str, str], free: int, now: float) -> float:
        wrong, last = self._failed.get(key, (0, now))
        return max(0.0, last + WAIT - now) if wrong >= free else 0.0


def _forget(remembered: dict[tuple[str, str], Any]) -> None:
    while len(remembered) > MOST:
        remembered.pop(next(iter(remembered)))
