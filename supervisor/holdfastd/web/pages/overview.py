"""Overview: what waits and runs, what is wrong now, and how the last hours went."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.task_states import State
from holdfastd.documents.period_report import Report
from holdfastd.web.pages.chosen_period import PERIODS, chosen_period
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.charts import course_charts

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
