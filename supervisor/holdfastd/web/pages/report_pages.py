"""The overview, and the pages of handlers: rates, failures, times and errors of a chosen period."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.arguments import check_name
from holdfast.core.outcomes import failure_in
from holdfast.core.rollup import MINUTE
from holdfast.core.statistics import Percentiles, Statistic
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.errors import InvalidTaskError
from holdfast.store import Store
from holdfast.store.periods import Period, Step
from holdfast.why.outlook import waiting_reason
from holdfastd.documents.period_report import Compared, Report
from holdfastd.operations.errors import status_of
from holdfastd.operations.lanes import check_handler_exists
from holdfastd.web.pages.task_pages import form_of
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.menu_and_strip import anchor_of

# Charts of the figures of a period.

STEPS = 60  # maximum number of steps of a chart
WIDTH, HEIGHT = 600, 80  # size of the picture


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of figures over time. `at`: Unix seconds of the steps. `lines`: by name, a value for each step; None if
    there is no value. `tasks`: the URL of the list of counted tasks; the script adds a time to it."""

    title: str
    unit: str
    at: list[int]
    lines: dict[str, list[float | None]]
    tasks: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The chart in the form that the script of the page reads."""
        return {
            "title": self.title,
            "unit": self.unit,
            "tasks": self.tasks,
            "names": list(self.lines),
            "data": [self.at, *self.lines.values()],
        }

    @property
    def points(self) -> list[str]:
        """The points of an SVG polyline for each line, in WIDTH by HEIGHT."""
        top = max((value for line in self.lines.values() for value in line if value), default=1)
        return [" ".join(_points(line, top)) for line in self.lines.values()]


Course = Sequence[tuple[int, Statistic]]  # for each step: when it begins in Unix seconds, and its figures


def course_of(period: Period) -> Course:
    return [
        (step.start_ms // 1000, Statistic.of("", step.seconds, step.figures))
        for step in _whole_steps(period.course(STEPS))
    ]


def course_charts(course: Course, tasks: str = "/tasks?") -> list[Chart]:
    """Two charts of a period: runs and failures per second, and the waiting and running times of tasks."""
    at, steps = [moment for moment, _ in course], [step for _, step in course]
    rates: dict[str, list[float | None]] = {
        "runs": [step.rate for step in steps],
        "failures": [step.failures / step.seconds for step in steps],
    }
    times = {
        "wait p50": [step.wait.p50 if step.wait else None for step in steps],
        "wait p95": [step.wait.p95 if step.wait else None for step in steps],
        "run p50": [step.run.p50 if step.run else None for step in steps],
        "run p95": [step.run.p95 if step.run else None for step in steps],
    }
    return [Chart("Runs a second", "/s", at, rates, tasks), Chart("Times in seconds", "s", at, times, tasks)]


def _whole_steps(course: Sequence[Step]) -> Sequence[Step]:
    """The steps without the present minute, whose rates would be too low. If nothing ran before the present minute, all
    steps."""
    *earlier, last = course
    is_running = last.seconds * 1000 <= MINUTE
    return earlier if is_running and any(step.figures.outcomes for step in earlier) else course


def at_once(times: Percentiles | None, seconds: float) -> float:
    """The mean number of tasks that waited, or ran, at a moment of the period: the sum of their times, divided by the
    length of the period."""
    return times.mean * times.samples / seconds if times else 0.0


def sparks(course: Course) -> dict[str, str]:
    """The points of the small lines in the overview, for SVG polylines."""
    steps = [step for _, step in course]
    lines: dict[str, list[float | None]] = {
        "waiting": [at_once(step.wait, step.seconds) for step in steps],
        "running": [at_once(step.run, step.seconds) for step in steps],
        "runs": [step.rate for step in steps],
        "failures": [step.failures / step.seconds for step in steps],
        "waits": [step.wait.p95 if step.wait else None for step in steps],
    }
    return {name: polyline(line) for name, line in lines.items()}


def changes(total: Compared) -> dict[str, tuple[float, float | None]]:
    """The five numbers of the overview in this period and in the period before; None: there was none."""
    then = total.before if total.before and total.before.runs else None
    return {name: (number(total.now) or 0.0, number(then) if then else None) for name, number in _NUMBERS.items()}


_NUMBERS: dict[str, Callable[[Statistic], float | None]] = {
    "waiting": lambda each: at_once(each.wait, each.seconds),
    "running": lambda each: at_once(each.run, each.seconds),
    "runs": lambda each: each.rate,
    "failures": lambda each: each.failures / each.seconds,
    "waits": lambda each: each.wait.p95 if each.wait else None,
}


def polyline(values: Sequence[float | None]) -> str:
    return " ".join(_points(values, max((value for value in values if value), default=1)))


def _points(values: Sequence[float | None], top: float) -> Iterable[str]:
    last = max(1, len(values) - 1)
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    for place, value in known * 2 if len(known) == 1 else known:  # a line of one point has no length, and is a dot
        yield f"{WIDTH * place / last:.1f},{HEIGHT - HEIGHT * value / top:.1f}"


# Errors of tasks that failed, grouped by handler, type and place.

EXAMPLES = 3  # tasks of a group that the page names
LONGEST_MESSAGE = 200

_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d+)', re.MULTILINE)
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen", "/holdfast/handler/", "/holdfast/worker/")


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Failed tasks with the same handler, error type and place. `place`: file and line of the innermost frame of the
    user's code; empty if unknown. `message`: the message of the last failure."""

    handler: str
    type: str
    place: str
    count: int
    last_ms: int
    message: str
    examples: tuple[str, ...]


def error_groups(tasks: Iterable[TaskRecord], results: Mapping[str, bytes]) -> list[ErrorGroup]:
    """The errors of failed tasks in groups, the most frequent first. `tasks`: newest first; `results`: by task id."""
    groups: dict[tuple[str, str, str], list[tuple[TaskRecord, str]]] = {}
    for task in tasks:
        failure = failure_in(results.get(task.task_id))
        kind = (failure.type if failure else "") or str(task.state)
        message = (failure.message if failure else "") or task.reason
        place = place_of(failure.traceback) if failure else ""
        groups.setdefault((task.name, kind, place), []).append((task, message))
    made = list[ErrorGroup]()
    for (handler, kind, place), found in groups.items():
        newest, message = found[0]
        examples, last_ms = tuple(task.task_id for task, _ in found[:EXAMPLES]), _ended(newest)
        made.append(ErrorGroup(handler, kind, place, len(found), last_ms, message[:LONGEST_MESSAGE], examples))
    return sorted(made, key=lambda group: (-group.count, -group.last_ms))


def place_of(traceback: str) -> str:
    """File and line of the innermost frame of the user's code. If there is none, of the innermost frame in a library or
    in Holdfast."""
    frames = [(found[1], found[2]) for found in _FRAME.finditer(traceback)]
    own = [frame for frame in frames if not any(part in frame[0] for part in _FOREIGN)]
    if not frames:
        return ""
    path, line = (own or frames)[-1]
    return f"{'/'.join(path.rsplit('/', 3)[-3:])}:{line}"


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
    course = course_of(report.period) if report else ()
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
    """All checks of `supervisor doctor` that the web process can make, by subject."""
    found = await request.app.state.problems.read()
    subjects = {each.subject: [one for one in found if one.subject == each.subject] for each in found}
    return page(request, "checks.html", subjects=subjects, anchor_of=anchor_of)


# The last tasks that failed in a period, at most MOST, with their errors in groups.

MOST = 100  # tasks whose errors are read
MOST_STEPS = 5  # calls of the store, some milliseconds each
MOST_BYTES = 32_768  # larger results are not read
FAILED = (State.FAILED, State.REJECTED)


@dataclass(frozen=True, slots=True)
class RecentErrors:
    """The errors of a period. `read`: the number of tasks whose errors were read. `is_all`: no other task failed in the
    period."""

    groups: list[ErrorGroup]
    read: int
    is_all: bool


async def recent_errors(access: QueueAccess, since_ms: int, name: str | None = None) -> RecentErrors:
    """The errors of the tasks that failed since this Unix time, of one handler or of all. The tasks come from the lists
    of ended tasks and of dead letters."""
    store = access.store
    tasks, is_whole = await _failed(store, since_ms, name)
    letters = await store.dead_letters(MOST)
    found = {task.task_id: task for task in (*tasks, *letters.tasks) if name is None or task.name == name}
    recent = [task for task in found.values() if _ended(task) >= since_ms]
    newest = sorted(recent, key=_ended, reverse=True)[:MOST]
    results = await store.small_results([task.task_id for task in newest], MOST_BYTES)
    older = len(found) > len(recent)  # the lists went back beyond the period
    is_all = len(recent) <= MOST and (older or (is_whole and not letters.cursor))
    return RecentErrors(error_groups(newest, results), len(newest), is_all)


async def _failed(store: Store, since_ms: int, name: str | None) -> tuple[list[TaskRecord], bool]:
    """The last tasks that failed, and true if these are all in the period. A call of the store searches a limited
    number of ended tasks, so a few calls may not find all."""
    tasks, cursor = list[TaskRecord](), ""
    for _ in range(MOST_STEPS):
        page = await store.tasks(Wanted(states=FAILED, name=name or ""), MOST - len(tasks), cursor)
        tasks, cursor = [*tasks, *page.tasks], page.cursor
        if not cursor or len(tasks) == MOST or (tasks and _ended(tasks[-1]) < since_ms):
            break
    return tasks, not cursor


def _ended(task: TaskRecord) -> int:
    return task.finished_ms or task.created_ms


LATEST = 10  # tasks of one handler


async def handlers(request: Request) -> Response:
    access = queue_of(request)
    period, report = await _chosen(request)
    seen = {each.now.name for each in (report.handlers if report else ())}
    return page(
        request,
        "handlers.html",
        period=period,
        periods=PERIODS,
        report=report,
        errors=await recent_errors(access, await access.store.clock_ms() - period.length_ms),
        others=[each for each in await access.store.published_handlers() if report and each.name not in seen],
    )


async def handler(request: Request) -> Response:
    """The page of one handler. The empty name stands for tasks that name no handler."""
    access = queue_of(request)
    name = request.query_params.get("name", "")
    try:
        name = name and check_name(name)
    except InvalidTaskError as error:
        return page(request, "problem.html", status_of(error), title="No such handler", problem=str(error))
    period, report = await _chosen(request, name)
    form = await form_of(access, name)
    latest = Wanted(states=tuple(State), name=name, newest_first=True)
    tasks = (await access.store.tasks(latest, LATEST)).tasks if name else ()
    if name and not tasks and not (report and report.handlers):
        await check_handler_exists(access.store, name)
    return page(
        request,
        "handler.html",
        name=name,
        period=period,
        periods=PERIODS,
        report=report,
        charts=course_charts(course_of(report.period), f"/tasks?{urlencode({'name': name})}&") if report else (),
        errors=await recent_errors(access, await access.store.clock_ms() - period.length_ms, name),
        tasks=tasks,
        form=form,
        service=waiting_reason(await access.manager.service(form.handler.lane or access.queue, name)),
    )
