"""Handlers: rates, failures and times of each in a period."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.periods import last_periods
from holdfastd.documents.period_report import Report
from holdfastd.web.pages.chosen_period import PERIODS, chosen_period
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page


async def handlers(request: Request) -> Response:
    access = queue_of(request)
    period = chosen_period(request)
    report = Report.of(*await last_periods(access.store, await access.store.clock_ms(), period.length_ms))
    return page(request, "handlers.html", period=period, periods=PERIODS, report=report)
