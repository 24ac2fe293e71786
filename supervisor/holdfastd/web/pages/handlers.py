"""Handlers: rates, failures and times of each in a period, and their errors in groups; a page for one of them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.arguments import check_name
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast.errors import InvalidTaskError
from holdfast.why.outlook import waiting_reason
from holdfastd.documents.period_report import Report
from holdfastd.web.pages.chosen_period import PERIODS, chosen_period
from holdfastd.web.pages.recent_errors import recent_errors
from holdfastd.web.pages.submit import form_of
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.charts import course_charts

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
