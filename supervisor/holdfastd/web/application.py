"""The ASGI application: its pages, what each may change, and the guard in front of them."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from holdfast.errors import HoldfastError
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.web import errors
from holdfastd.web.a2a import endpoint as a2a
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.guard import Guard
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.access.session_cookie import OpenSessions, SessionCookies
from holdfastd.web.access.visitors import Visitors
from holdfastd.web.api.endpoint import PREFIX, Api
from holdfastd.web.changes.all_changes import CHANGES
from holdfastd.web.changes.carry_out import carry_out
from holdfastd.web.changes.chosen_tasks import change_chosen
from holdfastd.web.live import endpoints as live
from holdfastd.web.live.event_feed import EventFeed
from holdfastd.web.live.stream_response import OpenStreams
from holdfastd.web.pages import (
    activity,
    batches,
    bulk,
    events,
    handlers,
    lanes,
    overview,
    schedules,
    set_aside,
    submit,
    task,
    tasks,
    webhooks,
    workers,
)
from holdfastd.web.pages.login import LoginPage
from holdfastd.web.queue.activity_notes import RefusalBound
from holdfastd.web.queue.bulk_work import BulkWork
from holdfastd.web.queue.cached_reports import CurrentProblems, PeriodReports, QueueCounts
from holdfastd.web.queue.queue_access import QueueAccess

STATIC = Path(__file__).parent / "static"

PAGES = (
    Route("/", overview.overview),
    Route("/lanes", lanes.lanes),
    Route("/lane", lanes.lane),
    Route("/tasks", tasks.tasks),
    Route("/task", task.task),
    Route("/submit", submit.submit),
    Route("/tasks/bulk", bulk.confirm),
    Route("/bulk", bulk.bulk),
    Route("/handlers", handlers.handlers),
    Route("/handler", handlers.handler),
    Route("/workers", workers.workers),
    Route("/stacks", workers.stacks),
    Route("/schedules", schedules.schedules),
    Route("/schedule", schedules.schedule),
    Route("/schedules/new", schedules.new_schedule),
    Route("/schedules/edit", schedules.edit_schedule),
    Route("/dead", set_aside.dead),
    Route("/unreadable", set_aside.unreadable),
    Route("/unreadable/entry", set_aside.entry),
    Route("/batches", batches.batches),
    Route("/webhooks", webhooks.webhooks),
    Route("/batch", batches.batch),
    Route("/events", events.events),
    Route("/activity", activity.activity),
)

STREAMS = (Route("/events/stream", live.events), Route("/events/changes", live.changes))


def application(access: QueueAccess, accounts: Accounts, hosts: AllowedHosts, proxy: Proxy | None = None) -> Starlette:
    """The pages of this queue for these accounts, and for the users of the proxy."""
    visitors = Visitors(accounts, SessionCookies(accounts), OpenSessions(access), proxy or Proxy())
    login, problems, reports = LoginPage(visitors), CurrentProblems(access), PeriodReports(access)
    app = Starlette(
        routes=[
            Route("/healthz", _healthy),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/login", login.show),
            Route("/login", login.log_in, methods=["POST"]),
            Route("/logout", login.log_out, methods=["POST"]),
            Route(PREFIX + "{rest:path}", Api(access, problems, reports)),
            *PAGES,
            *STREAMS,
            *(a2a.ROUTES if access.settings.web_a2a else ()),
            *(Route(change.path, carry_out(change), methods=["POST"]) for change in CHANGES),
            Route("/tasks/chosen", change_chosen, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, visitors=visitors, hosts=hosts, failed=errors.failed)],
        exception_handlers={HTTPException: errors.refused, HoldfastError: errors.failed, Exception: errors.broken},
    )
    app.state.access, app.state.visitors = access, visitors
    app.state.problems = problems
    app.state.counts = QueueCounts(access)
    app.state.reports = reports
    app.state.feed, app.state.streams = EventFeed(access), OpenStreams.bounded()
    app.state.refusals, app.state.cards = RefusalBound(), dict[str, float]()
    app.state.bulk_work = BulkWork(access)
    return app


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")
