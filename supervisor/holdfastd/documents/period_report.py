"""The statistics of a period, compared with the statistics of the period before it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from holdfast.core.statistics import Percentiles, Statistic, by_handler, by_lane, in_all, statistics
from holdfast.store.periods import Period, PeriodBounds, last_bounds, read_period
from holdfastd.documents import printed_times
from holdfastd.documents.printed_times import document_of

if TYPE_CHECKING:
    from holdfast.store import Store

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
class Summary:
    """The statistics of a period: overall, by handler, by lane, and of at most STEPS steps, by the start of the step.
    Handlers and lanes with the most runs come first."""

    start_ms: int
    end_ms: int
    total: Statistic
    handlers: list[Statistic]
    lanes: list[Statistic]
    steps: dict[int, Statistic]

    @classmethod
    def of(cls, period: Period) -> Summary:
        total, seconds = period.total, period.seconds
        return cls(
            period.start_ms,
            period.end_ms,
            Statistic.of("", seconds, in_all(total)),
            statistics(by_handler(total), seconds),
            statistics(by_lane(total), seconds),
            {step.start_ms: Statistic.of("", step.seconds, step.figures) for step in period.course(STEPS)},
        )


async def read_report(store: Store, length_ms: int, handler: str | None = None, lane: str | None = None) -> Report:
    """The report of the period of this length until now. With `handler` or `lane`, only the figures of this handler or
    lane are counted. The figures of one period need megabytes, so only one period is in memory at a time."""
    now_ms = await store.clock_ms()

    async def summary(bounds: PeriodBounds) -> Summary:
        period = await read_period(store, now_ms, bounds, handler, lane)
        return await asyncio.to_thread(Summary.of, period)  # takes 10 ms for a hundred handlers

    latest, before = last_bounds(now_ms, length_ms)
    return Report.of(await summary(latest), await summary(before))


@dataclass(frozen=True, slots=True)
class Report:
    """A period compared with the period before it. `course`: the statistics of each step of `step_ms`, by the start of
    the step, in order. Handlers and lanes with the most runs come first."""

    start_ms: int
    end_ms: int
    total: Compared
    handlers: list[Compared]
    lanes: list[Compared]
    course: dict[int, Statistic]
    step_ms: int

    @classmethod
    def of(cls, now: Summary, then: Summary) -> Report:
        first, second, *_ = [*now.steps, now.end_ms]
        return cls(
            now.start_ms,
            now.end_ms,
            total=Compared(now.total, then.total),
            handlers=_compared(now.handlers, then.handlers),
            lanes=_compared(now.lanes, then.lanes),
            course=now.steps,
            step_ms=second - first,
        )

    @property
    def seconds(self) -> float:
        return (self.end_ms - self.start_ms) / 1000

    def document(self) -> ReportDocument:
        return {
            "since": printed_times.utc(self.start_ms),
            "until": printed_times.utc(self.end_ms),
            "all": document(self.total),
            "handlers": [document(each) for each in self.handlers],
            "lanes": [document(each) for each in self.lanes],
            "course": [{"at": printed_times.utc(at), "runs": step.runs} for at, step in self.course.items()],
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
