"""Figures of several rounds as one: the median of the quiet ones, or of the quietest, which is marked with `~`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

QUIET = 0.2  # cores that others use
ENOUGH = 3  # quiet rounds
Rounds = dict[str, list[dict[str, float]]]


@dataclass(frozen=True, slots=True)
class Figure:
    value: float
    noisy: bool = False

    def shown(self, digits: int = 0) -> str:
        return f"{'~' if self.noisy else ''}{self.value:,.{digits}f}"


@dataclass(frozen=True, slots=True)
class Section:
    """One run of a command, as the data file has it."""

    data: Mapping[str, Any]

    @property
    def titles(self) -> list[str]:
        """Of all subjects, in their order."""
        return list(dict.fromkeys(title for rounds in self.data["rounds"].values() for title in rounds))

    def figure(self, measure: str, title: str, key: str) -> Figure | None:
        return _median(self.data["rounds"].get(measure, {}).get(title, []), key)

    def failure(self, measure: str, title: str) -> str | None:
        return self.data["failed"].get(measure, {}).get(title)

    def ratio(self, measure: str, title: str, other: str, key: str) -> Figure | None:
        """To the same figure of another subject of this run."""
        figure, base = self.figure(measure, title, key), self.figure(measure, other, key)
        return Figure(figure.value / base.value, figure.noisy or base.noisy) if figure and base else None


def chosen(rounds: Sequence[dict[str, float]]) -> tuple[Sequence[dict[str, float]], bool]:
    """The rounds that count, and whether too few of them were quiet. A measure that does not say counts as quiet."""
    quiet = [figures for figures in rounds if figures.get("others", 0.0) < QUIET]
    needs = ENOUGH if any("others" in figures for figures in rounds) else 1
    if len(quiet) >= needs:
        return quiet, False
    return sorted(rounds, key=lambda figures: figures.get("others", 0.0))[:ENOUGH], True


def _median(rounds: Sequence[dict[str, float]], key: str) -> Figure | None:
    counted, noisy = chosen(rounds)
    values = [figures[key] for figures in counted if key in figures]
    return Figure(median(values), noisy) if values else None
