"""The statistics of a period and of the one before it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from holdfast.client.periods import Period
from holdfast.core.rollup import MINUTE, sum_of
from holdfast.core.statistics import Statistic, by_handler, by_lane, in_all, runs_over_time, statistics
from holdfastd.documents import times

STEPS = 60  # of the course of runs, at most


@dataclass(frozen=True, slots=True)
class Compared:
    """The statistic of one name; `before`: in the period before, None if it had no figures."""

    now: Statistic
    before: Statistic | None


@dataclass(frozen=True, slots=True)
class Report:
    """`course`: the number of runs in each step of `step_ms`. Handlers and lanes with the most runs come first."""

    period: Period
    total: Compared
    handlers: list[Compared]
    lanes: list[Compared]
    course: list[int]
    step_ms: int

    @classmethod
    def of(cls, latest: Period, before: Period) -> Report:
        now, then = sum_of(latest.rollups.values()), sum_of(before.rollups.values())
        length = latest.end_ms - latest.start_ms
        step_ms = max(1, -(-length // STEPS // MINUTE)) * MINUTE
        total = Statistic.of("", latest.seconds, in_all(now)), Statistic.of("", before.seconds, in_all(then))
        return cls(
            period=latest,
            total=Compared(*total),
            handlers=_compared(
                statistics(by_handler(now), latest.seconds), statistics(by_handler(then), before.seconds)
            ),
            lanes=_compared(statistics(by_lane(now), latest.seconds), statistics(by_lane(then), before.seconds)),
            course=runs_over_time(latest.rollups, latest.start_ms, step_ms, -(-length // step_ms)),
            step_ms=step_ms,
        )

    def document(self) -> dict[str, object]:
        course = [
            {"at": times.utc(self.period.start_ms + step * self.step_ms), "runs": runs}
            for step, runs in enumerate(self.course)
        ]
        return {
            "since": times.utc(self.period.start_ms),
            "until": times.utc(self.period.end_ms),
            "all": document(self.total),
            "handlers": [document(each) for each in self.handlers],
            "lanes": [document(each) for each in self.lanes],
            "course": course,
        }


def document(compared: Compared) -> dict[str, object]:
    before = compared.before and figures(compared.before)
    return {"name": compared.now.name, **figures(compared.now), "before": before}


def figures(statistic: Statistic) -> dict[str, object]:
    return {"rate": statistic.rate, **{name: value for name, value in asdict(statistic).items() if name != "name"}}


def _compared(now: list[Statistic], before: list[Statistic]) -> list[Compared]:
    earlier = {each.name: each for each in before}
    return [Compared(each, earlier.get(each.name)) for each in now]
