"""The result of the demonstration, and the checks that nothing was lost or done twice. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoResult:
    """`commits`: recorded outcomes; recovery in milliseconds, from a kill to the task's next run."""

    accepted: int
    completed: int
    commits: int
    committed_twice: int
    wrong: int
    workers_killed: int
    stewards_killed: int
    redelivered: int
    recovery_p50: float | None
    recovery_p99: float | None
    seconds: float

    @property
    def lost(self) -> int:
        return self.accepted - self.completed

    def breaches(self, expected: int) -> list[str]:
        """The promises that were broken, one line each; empty if none was."""
        found = {
            f"{expected} tasks were submitted, {self.accepted} accepted": self.accepted != expected,
            f"{self.lost} tasks were lost": self.lost != 0,
            f"{self.committed_twice} outcomes were recorded twice": self.committed_twice != 0,
            f"{self.commits} outcomes of {self.completed} completed tasks": self.commits != self.completed,
            f"{self.wrong} results are not what the texts say": self.wrong != 0,
        }
        return [breach for breach, is_so in found.items() if is_so]

    def rows(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        return [
            ("accepted", f"{self.accepted:,}"),
            ("completed", f"{self.completed:,}"),
            ("workers killed", str(self.workers_killed)),
            ("steward killed", str(self.stewards_killed)),
            ("redelivered", str(self.redelivered)),
            ("lost", str(self.lost)),
            ("committed twice", str(self.committed_twice)),
            ("wrong results", str(self.wrong)),
            ("recovery p50 / p99", f"{_ms(self.recovery_p50)} / {_ms(self.recovery_p99)}"),
        ]


def percentile(values: Sequence[float], share: float) -> float | None:
    """A percentile by nearest rank; None without values."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else None


def _ms(value: float | None) -> str:
    return "none was needed" if value is None else f"{value:.1f} ms"
