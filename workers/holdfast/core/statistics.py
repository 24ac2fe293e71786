"""Statistics of a period, from its rollups: rates, failures and percentiles, by handler, by lane or overall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from holdfast.core.rollup import Figures, Histogram, Rollup, Series, quantile

# Outcomes of runs of a handler; the others are of tasks that did not run (returned, defer, canceled, expired …).
RUNS = frozenset(
    {
        *("completed", "failed", "rejected", "exhausted", "unreadable", "input-required", "auth-required"),
        *("retry", "release", "sleep", "suspended", "crashed"),
    }
)
# Outcomes that end a task as failed or rejected.
FAILURES = frozenset(
    {"failed", "rejected", "exhausted", "unreadable", "dead-letter", "unserved", "parent-failed", "refused"}
)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of durations, in seconds. `samples`: the number of durations."""

    samples: int
    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, histogram: Histogram) -> Percentiles | None:
        """The percentiles of a histogram; None if it has no samples."""
        count = histogram.count
        p50, p95, p99 = (quantile(histogram.buckets, share) for share in (0.5, 0.95, 0.99))
        if p50 is None or p95 is None or p99 is None:
            return None
        return cls(count, histogram.micros / 1e6 / count, p50, p95, p99)


@dataclass(frozen=True, slots=True)
class Statistic:
    """The figures of one name (a handler, a lane, or '' for all) in a period of `seconds`.

    `runs`: deliveries whose handler began. `failures`: tasks that failed or were rejected. `lost_samples`: runs whose
    duration is unknown, because their worker died before it had sent the duration. `recovery`: the time from the loss
    of a worker until its task was put back.
    """

    name: str
    seconds: float
    runs: int
    completed: int
    failures: int
    retries: int
    crashes: int
    wait: Percentiles | None
    run: Percentiles | None
    lost_samples: int
    recovery: Percentiles | None = None

    @property
    def rate(self) -> float:
        """Runs a second."""
        return self.runs / self.seconds

    @classmethod
    def of(cls, name: str, seconds: float, figures: Figures) -> Statistic:
        outcomes = figures.outcomes
        return cls(
            name=name,
            seconds=seconds,
            runs=runs_of(figures),
            completed=outcomes["completed"],
            failures=sum(outcomes[outcome] for outcome in FAILURES),
            retries=outcomes["retry"],
            crashes=outcomes["crashed"],
            wait=Percentiles.of(figures.wait),
            run=Percentiles.of(figures.run),
            lost_samples=figures.lost_samples,
            recovery=Percentiles.of(figures.recovery),
        )


def runs_of(figures: Figures) -> int:
    """The number of runs of a handler."""
    return sum(figures.outcomes[outcome] for outcome in RUNS)


def by_handler(rollup: Rollup) -> dict[str, Figures]:
    return _grouped(rollup, lambda series: series.handler)


def by_lane(rollup: Rollup) -> dict[str, Figures]:
    return _grouped(rollup, lambda series: series.lane)


def in_all(rollup: Rollup) -> Figures:
    return _grouped(rollup, lambda _: "").get("", Figures())


def only(rollup: Rollup, handler: str | None = None, lane: str | None = None) -> Rollup:
    """The part of the rollup that belongs to this handler and this lane. None stands for any handler or any lane."""
    return {
        series: figures
        for series, figures in rollup.items()
        if handler in {None, series.handler} and lane in {None, series.lane}
    }


def statistics(groups: Mapping[str, Figures], seconds: float) -> list[Statistic]:
    """The statistics of each name, those with the most runs first."""
    found = [Statistic.of(name, seconds, figures) for name, figures in groups.items()]
    return sorted(found, key=lambda each: (-each.runs, each.name))


def runs_over_time(rollups: Mapping[int, Rollup], start_ms: int, step_ms: int, steps: int) -> list[int]:
    """The number of runs in each of several equal steps of time, from a moment on."""
    counts = [0] * steps
    for at, rollup in rollups.items():
        step = (at - start_ms) // step_ms
        if 0 <= step < steps:
            counts[step] += runs_of(in_all(rollup))
    return counts


def _grouped(rollup: Rollup, name_of: Callable[[Series], str]) -> dict[str, Figures]:
    groups = defaultdict[str, list[Figures]](list)
    for series, figures in rollup.items():
        groups[name_of(series)].append(figures)
    return {name: each[0] if len(each) == 1 else _added(each) for name, each in groups.items()}


def _added(parts: Iterable[Figures]) -> Figures:
    total = Figures()
    for each in parts:
        total.add(each)
    return total
