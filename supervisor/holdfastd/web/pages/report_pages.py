"""The overview, and the pages of handlers: rates, failures, times and errors of a chosen period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.arguments import check_name
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.errors import InvalidTaskError
from holdfast.why.outlook import waiting_reason
from holdfastd.documents.period_report import Report
from holdfastd.operations.lanes import check_handler_exists
from holdfastd.web.pages.task_pages import form_of
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.report_views import ErrorGroup, course_charts, error_groups

if TYPE_CHECKING:
    from holdfast.store import Store

# The period that a page is asked for: `?since=24h`.

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


def chosen_period(request: Request) -> ChosenPeriod:
    """The hour, unless the address names another one of PERIODS."""
    wanted = request.query_params.get("since")
    return next((each for each in PERIODS if each.name == wanted), PERIODS[0])


# Overview: what waits and runs, what is wrong now, and how the last hours went.

MOST_HANDLERS = 10


async def overview(request: Request) -> Response:
    access = queue_of(request)
    store = access.store
    period = chosen_period(request)
    report: Report | None = await request.app.state.reports.of(period.length_ms)
    counts = await store.counts()
    is_poll = request.headers.get("hx-target") == "live"  # of the numbers alone; charts are drawn once a minute
    return page(
        request,
        "overview.html",
        period=period,
        periods=PERIODS,
        report=report,
        handlers=report.handlers[:MOST_HANDLERS] if report else (),
        states={str(state): counts.states.get(state, 0) for state in State},
        counts=counts,
        workers=[worker for worker in await store.workers() if worker.state != "dead"],
        problems=await request.app.state.problems.read(),
        charts=() if is_poll or report is None else course_charts(report.period),
    )


# The last tasks that failed in a period, a bounded number, with their errors in groups.

MOST = 100  # tasks whose errors are read
MOST_STEPS = 5  # of the store, some milliseconds each
MOST_BYTES = 32_768  # of a result that is read
FAILED = (State.FAILED, State.REJECTED)


@dataclass(frozen=True, slots=True)
class RecentErrors:
    """`read`: the number of tasks whose errors were read; `is_all`: there were no more in the period."""

    groups: list[ErrorGroup]
    read: int
    is_all: bool


async def recent_errors(access: QueueAccess, since_ms: int, name: str | None = None) -> RecentErrors:
    """The failed tasks of one handler, or of all, the newest first, from the indexes of ended and dead tasks."""
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
    """The last tasks that failed, and whether there are no more in the period: each step of the store looks at a
    bounded number of ended tasks."""
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
    period = chosen_period(request)
    report: Report | None = await request.app.state.reports.of(period.length_ms)
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
    """One handler; the empty name: that of tasks that name none."""
    access = queue_of(request)
    name = request.query_params.get("name", "")
    try:
        name = name and check_name(name)
    except InvalidTaskError as error:
        return page(request, "problem.html", 404, title="No such handler", problem=str(error))
    period = chosen_period(request)
    report: Report | None = await request.app.state.reports.of(period.length_ms, name)
    form = await form_of(request, name)
    tasks = (
        (await access.store.tasks(Wanted(states=tuple(State), name=name, newest_first=True), LATEST)).tasks
        if name
        else ()
    )
    if name and not tasks and not (report and report.handlers):
        await check_handler_exists(access.store, name)
    return page(
        request,
        "handler.html",
        name=name,
        period=period,
        periods=PERIODS,
        report=report,
        charts=course_charts(report.period) if report else (),
        errors=await recent_errors(access, await access.store.clock_ms() - period.length_ms, name),
        tasks=tasks,
        form=form,
        service=waiting_reason(await access.manager.service(form.handler.lane or access.queue, name)),
    )
