"""The statistics of a period, compared with the statistics of the period before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

from holdfast.core.rollup import Sum
from holdfast.core.statistics import Percentiles, Statistic, by_handler, by_lane, in_all, runs_of, statistics
from holdfast.store.periods import Period
from holdfastd.documents import printed_times
from holdfastd.documents.printed_times import document_of

STEPS = 60  # the most steps into which `course` divides the period
MUCH = 0.05  # share of failed runs that is always much
FEW = 0.01  # share that is never much
GROWN = 2.0  # between them: the share in this period, divided by the share in the period before


class PercentilesDocument(TypedDict):
    """Percentiles of durations, in seconds. `samples`: the number of durations."""

    samples: int
    mean: float
    p50: float
    p95: float
    p99: float


class FiguresDocument(TypedDict):
    """Figures of a period of `seconds`. `rate`: runs a second; `recovery`: from the loss of a worker until its task was
    put back."""

    rate: float
    seconds: float
    runs: int
    completed: int
    failures: int
    retries: int
    crashes: int
    wait: PercentilesDocument | None
    run: PercentilesDocument | None
    lost_samples: int
    recovery: PercentilesDocument | None


class ComparedDocument(FiguresDocument):
    """The figures of one handler, one lane, or all tasks. `before`: the figures of the period before; null if nothing
    ran then."""

    name: str
    before: FiguresDocument | None


class CourseStep(TypedDict):
    at: printed_times.Moment | None
    runs: int


class ReportDocument(TypedDict):
    """The figures of a period. `course`: the number of runs in each step of it."""

    since: printed_times.Moment | None
    until: printed_times.Moment | None
    all: ComparedDocument
    handlers: list[ComparedDocument]
    lanes: list[ComparedDocument]
    course: list[CourseStep]


@dataclass(frozen=True, slots=True)
class Compared:
    """The statistic of one handler or lane. `now`: of the period; `before`: of the period before; None if it had no
    runs then."""

    now: Statistic
    before: Statistic | None

    @property
    def fails_much(self) -> bool:
        """True if 5 % of the runs failed, or more. From 1 %: also if the share is twice that of the period before."""
        share, then = _failed(self.now), self.before
        return share >= MUCH or (share >= FEW and then is not None and then.runs > 0 and share >= GROWN * _failed(then))


@dataclass(frozen=True, slots=True)
class Report:
    """A period compared with the period before it. `period`: its figures by step, without the total. `course`: the
    number of runs in a step of `step_ms`, by the start of the step, in order. Handlers and lanes with the most runs
    come first."""

    period: Period
    total: Compared
    handlers: list[Compared]
    lanes: list[Compared]
    course: dict[int, int]
    step_ms: int

    @classmethod
    def of(cls, latest: Period, before: Period) -> Report:
        now, then = latest.total, before.total
        course = {step.start_ms: runs_of(step.figures) for step in latest.course(STEPS)}
        first, second, *_ = [*course, latest.end_ms]
        total = Statistic.of("", latest.seconds, in_all(now)), Statistic.of("", before.seconds, in_all(then))
        return cls(
            period=replace(latest, total=Sum()),  # the total would need a megabyte with a hundred handlers
            total=Compared(*total),
            handlers=_compared(
                statistics(by_handler(now), latest.seconds), statistics(by_handler(then), before.seconds)
            ),
            lanes=_compared(statistics(by_lane(now), latest.seconds), statistics(by_lane(then), before.seconds)),
            course=course,
            step_ms=second - first,
        )

    def document(self) -> ReportDocument:
        return {
            "since": printed_times.utc(self.period.start_ms),
            "until": printed_times.utc(self.period.end_ms),
            "all": document(self.total),
            "handlers": [document(each) for each in self.handlers],
            "lanes": [document(each) for each in self.lanes],
            "course": [{"at": printed_times.utc(at), "runs": runs} for at, runs in self.course.items()],
        }


def _failed(statistic: Statistic) -> float:
    return statistic.failures / statistic.runs if statistic.runs else float(statistic.failures)


def document(compared: Compared) -> ComparedDocument:
    before = figures(compared.before) if compared.before else None
    return {"name": compared.now.name, **figures(compared.now), "before": before}


def figures(statistic: Statistic) -> FiguresDocument:
    return document_of(
        FiguresDocument,
        statistic,
        wait=_percentiles(statistic.wait),
        run=_percentiles(statistic.run),
        recovery=_percentiles(statistic.recovery),
    )


def _percentiles(of: Percentiles | None) -> PercentilesDocument | None:
    return None if of is None else document_of(PercentilesDocument, of)


def _compared(now: list[Statistic], before: list[Statistic]) -> list[Compared]:
    earlier = {each.name: each for each in before}
    return [Compared(each, earlier.get(each.name)) for each in now]
