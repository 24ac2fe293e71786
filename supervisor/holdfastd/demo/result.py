"""The result of the demonstration, and the checks that nothing was lost or done twice. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.plurals import counted

ALL_KEPT = "every promise was kept: nothing lost, nothing committed twice"


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
        checks = {
            f"submitted: {counted(expected, 'task')}, accepted: {self.accepted}": self.accepted != expected,
            f"lost: {counted(self.lost, 'task')}": self.lost != 0,
            f"committed twice: {counted(self.committed_twice, 'outcome')}": self.committed_twice != 0,
            f"completed: {counted(self.completed, 'task')}, outcomes: {self.commits}": self.commits != self.completed,
            f"other than the texts say: {counted(self.wrong, 'result')}": self.wrong != 0,
        }
        return [breach for breach, is_broken in checks.items() if is_broken]

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
