"""Courses of a period as charts: numbers for a script, and a picture for readers without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core.statistics import Statistic
from holdfast.store.periods import Period

STEPS = 60  # of a course, at most
WIDTH, HEIGHT = 600, 80  # of the picture


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """`at`: Unix seconds of the steps; each line has a value for each step, None where there is none."""

    title: str
    unit: str
    at: list[int]
    lines: list[Line]

    @property
    def data(self) -> dict[str, Any]:
        """As the script of the page reads it."""
        return {
            "title": self.title,
            "unit": self.unit,
            "names": [line.name for line in self.lines],
            "data": [self.at, *(line.values for line in self.lines)],
        }

    @property
    def points(self) -> list[str]:
        """Of each line, the points of an SVG polyline in WIDTH by HEIGHT."""
        top = max((value for line in self.lines for value in line.values if value), default=1)
        return [" ".join(_points(line.values, top)) for line in self.lines]


def course_charts(period: Period) -> list[Chart]:
    """Runs and failures a second, and how long tasks waited and ran, step by step."""
    course = period.course(STEPS)
    at = [step.start_ms // 1000 for step in course]
    steps = [Statistic.of("", step.seconds, step.figures) for step in course]
    return [
        Chart(
            "Runs a second",
            "/s",
            at,
            [
                Line("runs", [step.rate for step in steps]),
                Line("failures", [step.failures / step.seconds for step in steps]),
            ],
        ),
        Chart(
            "Times in seconds",
            "s",
            at,
            [
                Line("wait p50", [step.wait.p50 if step.wait else None for step in steps]),
                Line("wait p95", [step.wait.p95 if step.wait else None for step in steps]),
                Line("run p50", [step.run.p50 if step.run else None for step in steps]),
                Line("run p95", [step.run.p95 if step.run else None for step in steps]),
            ],
        ),
    ]


def _points(values: Sequence[float | None], top: float) -> Iterable[str]:
    last = max(1, len(values) - 1)
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    for place, value in known * 2 if len(known) == 1 else known:  # a line of one point has no length, and is a dot
        yield f"{WIDTH * place / last:.1f},{HEIGHT - HEIGHT * value / top:.1f}"
