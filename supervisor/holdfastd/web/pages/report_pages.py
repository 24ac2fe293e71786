"""The overview, and the pages of handlers: rates, failures, times and errors of a chosen period."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.arguments import check_name
from holdfast.client.task_filter import TaskFilter
from holdfast.core.error_kinds import ErrorKind
from holdfast.core.rollup import MINUTE
from holdfast.core.statistics import Percentiles, Statistic
from holdfast.core.task_states import State
from holdfast.errors import InvalidTaskError
from holdfastd.doctor.finding import Level
from holdfastd.documents.period_report import Compared, Report
from holdfastd.documents.task_list import chosen_columns, read_rows
from holdfastd.operations.error_statuses import status_of
from holdfastd.operations.lanes import check_handler_exists
from holdfastd.web.queue.cached_reports import SHOWN
from holdfastd.web.queue.found_tasks import found_tasks
from holdfastd.web.queue.queue_access import list_place, queue_of
from holdfastd.web.rendering import page, problem_page
from holdfastd.web.views.menu_and_strip import Wrong, anchor_of

# Charts of the figures of a period.

LEAST_POINTS = 3  # fewer points make no chart
WIDTH, HEIGHT = 600, 80  # size of the picture


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of figures over time. `at`: Unix seconds of the steps. `lines`: by name, a value for each step; None if
    there is no value. `tasks`: the URL of the list of counted tasks; the script adds a time to it. `window`: first and
    last second of the chart, also where it has no steps; by default those of the steps. `colours`: of the
    lines, by their numbers in the stylesheet."""

    title: str
    unit: str
    at: list[int]
    lines: dict[str, list[float | None]]
    tasks: str = ""
    window: tuple[int, int] | None = None
    colours: tuple[int, ...] = (1, 4)

    @property
    def data(self) -> dict[str, Any]:
        """The chart in the form that the script of the page reads."""
        return {
            "title": self.title,
            "unit": self.unit,
            "tasks": self.tasks,
            "window": self.window,
            "colours": self.colours,
            "names": list(self.lines),
            "data": [self.at, *self.lines.values()],
        }

    @property
    def is_thin(self) -> bool:
        """True if no line has enough points."""
        return all(sum(value is not None for value in line) < LEAST_POINTS for line in self.lines.values())

    @property
    def points(self) -> list[str]:
        """The points of an SVG polyline for each line, in WIDTH by HEIGHT."""
        top = max((value for line in self.lines.values() for value in line if value), default=1)
        return [" ".join(_points(line, top)) for line in self.lines.values()]


Course = Sequence[tuple[int, Statistic]]  # for each step: when it begins in Unix seconds, and its figures


def course_of(report: Report) -> Course:
    """The steps without the present minute, whose rates would be too low. If nothing ran before the present minute, all
    steps."""
    course = [(start_ms // 1000, step) for start_ms, step in report.course.items()]
    *earlier, (_, last) = course
    is_running = last.seconds * 1000 <= MINUTE
    return earlier if is_running and any(step.runs or step.failures for _, step in earlier) else course


def course_charts(course: Course, tasks: str = "/tasks?") -> list[Chart]:
    """Four charts of a period: runs a second, the share of runs that failed, and how long tasks waited and ran. Each
    has its own scale, so that a small line is seen as well."""
    at, steps = [moment for moment, _ in course], [step for _, step in course]

    def times(of: Callable[[Statistic], Percentiles | None]) -> dict[str, list[float | None]]:
        found = [of(step) for step in steps]
        return {
            "p50": [each.p50 if each else None for each in found],
            "p95": [each.p95 if each else None for each in found],
        }

    return [
        Chart("Runs a second", "/s", at, {"runs": [step.rate for step in steps]}, tasks),
        Chart("Failed", "%", at, {"failed": [failed_share(step) for step in steps]}, tasks, colours=(2,)),
        Chart("Wait", "s", at, times(lambda step: step.wait), tasks),
        Chart("Run time", "s", at, times(lambda step: step.run), tasks),
    ]


def failed_share(step: Statistic) -> float | None:
    """The failures in per cent of the runs; None without runs."""
    return min(100.0, 100 * step.failures / step.runs) if step.runs else None


def at_once(times: Percentiles | None, seconds: float) -> float:
    """The mean number of tasks that waited, or ran, at a moment of the period: the sum of their times, divided by the
    length of the period."""
    return times.mean * times.samples / seconds if times else 0.0


def sparks(course: Course) -> dict[str, str]:
    """The points of the small charts (sparklines) of the tiles, for SVG polylines."""
    return {name: polyline([number(step) for _, step in course]) for name, number in _NUMBERS.items()}


def changes(total: Compared) -> dict[str, tuple[float, float | None]]:
    """The numbers of the tiles in this period and in the period before; None: nothing ran then."""
    then = total.before if total.before and total.before.runs else None
    return {name: (number(total.now) or 0.0, number(then) if then else None) for name, number in _NUMBERS.items()}


_NUMBERS: dict[str, Callable[[Statistic], float | None]] = {
    "waiting": lambda each: at_once(each.wait, each.seconds),
    "running": lambda each: at_once(each.run, each.seconds),
    "runs": lambda each: each.rate,
    "failures": lambda each: each.failures / each.seconds,
    "crashes": lambda each: each.crashes / each.seconds,
    "waits": lambda each: each.wait.p95 if each.wait else None,
    "times": lambda each: each.run.p95 if each.run else None,
}


def polyline(values: Sequence[float | None]) -> str:
    return " ".join(_points(values, max((value for value in values if value), default=1)))


def _points(values: Sequence[float | None], top: float) -> Iterable[str]:
    last = max(1, len(values) - 1)
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    for place, value in known * 2 if len(known) == 1 else known:  # a line of one point has no length, and is a dot
        yield f"{WIDTH * place / last:.1f},{HEIGHT - HEIGHT * value / top:.1f}"


# The kinds of errors with which tasks have failed in a period.

MOST_KINDS = 25  # of one page
COURSE = 12  # steps of a kind's small line


@dataclass(frozen=True, slots=True)
class RecentErrors:
    """Kinds of errors: those with failed tasks first, then those whose tasks all ended well after a retry, the latest
    first. `count`: the number of kinds in the period. `first`: the number of kinds on the pages before."""

    kinds: Sequence[ErrorKind]
    count: int
    first: int = 0

    @property
    def following(self) -> int | None:
        """The place at which the next page begins: the number of kinds on this page and the pages before. None if there
        are no more kinds."""
        return self.first + MOST_KINDS if self.first + MOST_KINDS < self.count else None


async def recent_errors(
    request: Request, length_ms: int, name: str | None = None, *, dead: bool = False
) -> RecentErrors:
    """The kinds of errors of this period until now, of one handler or of all. `dead`: only kinds with dead letters,
    whose last failure may have been before the period."""
    store, first = queue_of(request).store, list_place(request)
    now_ms = await store.clock_ms()
    since_ms, course = now_ms - length_ms, (now_ms - length_ms, now_ms + 1, COURSE)
    count, kinds = await store.error_kinds(name, 0 if dead else since_ms, first, MOST_KINDS, course)
    shown = sorted((kind for kind in kinds if kind.dead or not dead), key=lambda kind: not kind.failed)
    return RecentErrors(shown, count, first)


# The period that the query of a page selects: `?since=24h`.

HOUR_MS = 3_600_000


class ChosenPeriod(NamedTuple):
    name: str
    title: str
    length_ms: int


PERIODS = (
    ChosenPeriod("1h", "hour", HOUR_MS),
    ChosenPeriod("6h", "6 hours", 6 * HOUR_MS),
    ChosenPeriod("24h", "day", 24 * HOUR_MS),
    ChosenPeriod("7d", "week", 168 * HOUR_MS),
    ChosenPeriod("30d", "30 days", 720 * HOUR_MS),
)


async def _chosen(request: Request, name: str | None = None) -> tuple[ChosenPeriod, Report | None]:
    """The period that the query selects, by default the last hour; and its report, for one handler or for all."""
    wanted = request.query_params.get("since")
    period = next((each for each in PERIODS if each.name == wanted), PERIODS[0])
    return period, await request.app.state.reports.of(period.length_ms, name)


# The overview: waiting and running tasks, present problems, and figures of the last hours.

MOST_HANDLERS = 10


async def overview(request: Request) -> Response:
    period, report = await _chosen(request)
    counts = await request.app.state.counts.read()
    is_poll = request.headers.get("hx-target") == "live"  # updates numbers only: charts are drawn once a minute
    course = course_of(report) if report else ()
    return page(
        request,
        "overview.html",
        period=period,
        periods=PERIODS,
        report=report,
        handlers=report.handlers[:MOST_HANDLERS] if report else (),
        states={str(state): counts.states.get(state, 0) for state in State},
        workers=counts.workers,
        sparks=sparks(course),
        changes=changes(report.total) if report else {},
        charts=() if is_poll or not report else course_charts(course),
    )


async def checks(request: Request) -> Response:
    """All checks of `supervisor doctor` that the web process can make, by subject, the worst first."""
    found = await request.app.state.problems.read()
    known = [(each, Wrong.of(each) if each.level in SHOWN else None) for each in found]
    known.sort(key=lambda pair: (pair[1] is None, pair[0].level is not Level.PROBLEM, pair[1].rank if pair[1] else 0))
    subjects = {each.subject: [pair for pair in known if pair[0].subject == each.subject] for each, _ in known}
    return page(request, "checks.html", subjects=subjects, anchor_of=anchor_of)


# Handlers.

LATEST = 10  # tasks of one handler
OF_HANDLER = "task,arguments,state,lane,age,wait,duration,runs,reason"
ORDERS: dict[str, Callable[[Statistic], float | None]] = {  # of the list of handlers, the largest first
    "runs": lambda each: each.runs,
    "failed": lambda each: each.failures,
    "share": failed_share,
    "retries": lambda each: each.retries,
    "crashes": lambda each: each.crashes,
    "wait": lambda each: each.wait.p95 if each.wait else None,
    "run": lambda each: each.run.p95 if each.run else None,
}


async def handlers(request: Request) -> Response:
    access = queue_of(request)
    period, report = await _chosen(request)
    seen = {each.now.name for each in (report.handlers if report else ())}
    order = request.query_params.get("sort", "")
    order = order if order in ORDERS else "runs"
    return page(
        request,
        "handlers.html",
        period=period,
        periods=PERIODS,
        report=report,
        order=order,
        handlers=sorted(report.handlers, key=lambda each: -(ORDERS[order](each.now) or 0)) if report else (),
        errors=await recent_errors(request, period.length_ms),
        others=[each for each in await access.store.published_handlers() if report and each.name not in seen],
    )


async def handler(request: Request) -> Response:
    """The page of one handler. The empty name stands for tasks that name no handler."""
    access = queue_of(request)
    name = request.query_params.get("name", "")
    try:
        name = name and check_name(name)
    except InvalidTaskError as error:
        return problem_page(request, status_of(error), "No such handler", str(error))
    period, report = await _chosen(request, name)
    course = course_of(report) if report else ()
    latest = TaskFilter(state=[*State], name=name)
    tasks = (await found_tasks(access, latest, LATEST, "")).tasks if name else ()
    if name and not tasks and not (report and report.handlers):
        await check_handler_exists(access.store, name)
    return page(
        request,
        "handler.html",
        name=name,
        period=period,
        periods=PERIODS,
        report=report,
        changes=changes(report.total) if report else {},
        charts=course_charts(course, f"/tasks?{urlencode({'name': name})}&") if report else (),
        errors=await recent_errors(request, period.length_ms, name),
        tasks=await read_rows(access.store, tasks, access.redaction.value),
        columns=chosen_columns([OF_HANDLER]),
    )
