"""The content of report pages about a period: charts of its figures, and its errors in groups. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core.outcomes import failure_in
from holdfast.core.statistics import Statistic
from holdfast.core.tasks import TaskRecord
from holdfast.store.periods import Period

STEPS = 60  # of a course, at most
WIDTH, HEIGHT = 600, 80  # of the picture


@dataclass(frozen=True, slots=True)
class ChartLine:
    name: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """`at`: Unix seconds of the steps; each line has a value for each step, None where there is none."""

    title: str
    unit: str
    at: list[int]
    lines: list[ChartLine]

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
        """The points of an SVG polyline for each line, in WIDTH by HEIGHT."""
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
                ChartLine("runs", [step.rate for step in steps]),
                ChartLine("failures", [step.failures / step.seconds for step in steps]),
            ],
        ),
        Chart(
            "Times in seconds",
            "s",
            at,
            [
                ChartLine("wait p50", [step.wait.p50 if step.wait else None for step in steps]),
                ChartLine("wait p95", [step.wait.p95 if step.wait else None for step in steps]),
                ChartLine("run p50", [step.run.p50 if step.run else None for step in steps]),
                ChartLine("run p95", [step.run.p95 if step.run else None for step in steps]),
            ],
        ),
    ]


def _points(values: Sequence[float | None], top: float) -> Iterable[str]:
    last = max(1, len(values) - 1)
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    for place, value in known * 2 if len(known) == 1 else known:  # a line of one point has no length, and is a dot
        yield f"{WIDTH * place / last:.1f},{HEIGHT - HEIGHT * value / top:.1f}"


# Errors of tasks that failed, grouped by handler, type and place. Pure.

EXAMPLES = 3  # tasks that are named of one group
LONGEST_MESSAGE = 200

_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d+)', re.MULTILINE)
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen", "/holdfast/handler/", "/holdfast/worker/")


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """`place`: file and line of the innermost frame of the user's code, empty where none is known; `message`: of the
    last one."""

    handler: str
    type: str
    place: str
    count: int
    last_ms: int
    message: str
    examples: tuple[str, ...]


def error_groups(tasks: Iterable[TaskRecord], results: Mapping[str, bytes]) -> list[ErrorGroup]:
    """`tasks`: newest first; `results`: by their ids. The most frequent errors first."""
    groups: dict[tuple[str, str, str], list[tuple[TaskRecord, str]]] = {}
    for task in tasks:
        failure = failure_in(results.get(task.task_id))
        kind = (failure.type if failure else "") or str(task.state)
        message = (failure.message if failure else "") or task.reason
        place = place_of(failure.traceback) if failure else ""
        groups.setdefault((task.name, kind, place), []).append((task, message))
    return sorted(_made(groups), key=lambda group: (-group.count, -group.last_ms))


def _made(groups: Mapping[tuple[str, str, str], list[tuple[TaskRecord, str]]]) -> Iterator[ErrorGroup]:
    for (handler, kind, place), found in groups.items():
        newest, message = found[0]
        examples = tuple(task.task_id for task, _ in found[:EXAMPLES])
        last_ms = newest.finished_ms or newest.created_ms
        yield ErrorGroup(handler, kind, place, len(found), last_ms, message[:LONGEST_MESSAGE], examples)


def place_of(traceback: str) -> str:
    """The innermost frame that is neither of a library nor ours; else the innermost of all."""
    frames = [(found[1], found[2]) for found in _FRAME.finditer(traceback)]
    own = [frame for frame in frames if not any(part in frame[0] for part in _FOREIGN)]
    if not frames:
        return ""
    path, line = (own or frames)[-1]
    return f"{'/'.join(path.rsplit('/', 3)[-3:])}:{line}"
