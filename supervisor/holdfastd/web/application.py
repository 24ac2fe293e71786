"""The ASGI application of the web process: pages, changes, API, agent, and the guard in front of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
from holdfastd.operations.error_statuses import meaning_of
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.forms import visitor_of
from holdfastd.web.access.guard import Guard
from holdfastd.web.access.logins import OpenSessions, SessionCookies, Visitors
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.api.endpoint import PREFIX, Api
from holdfastd.web.changes.all_changes import CHANGES, change_chosen
from holdfastd.web.live import event_streams as live
from holdfastd.web.live.event_feed import EventFeed
from holdfastd.web.live.stream_response import OpenStreams
from holdfastd.web.pages import (
    event_pages,
    find_page,
    queue_pages,
    report_pages,
    schedule_pages,
    task_pages,
    worker_pages,
)
from holdfastd.web.pages.login_page import LoginPage
from holdfastd.web.problems import API, problem
from holdfastd.web.queue.cached_reports import CurrentProblems, PeriodReports, QueueCounts
from holdfastd.web.queue.found_tasks import BulkWork
from holdfastd.web.queue.queue_access import WARNING, QueueAccess, RefusalBound
from holdfastd.web.rendering import page, problem_page
from holdfastd.web.views.menu_and_strip import frame_of

# Answers to requests that fail: a browser gets a page, a program gets a document. Both have one sentence that says why.


async def refused(request: Request, error: Exception) -> Response:
    """The answer to an HTTPException, with its status and its text."""
    assert isinstance(error, HTTPException)
    answer = await _answer(request, error.status_code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def failed(request: Request, error: Exception) -> Response:
    """The answer to an error of the queue. If the store is away, the page reloads by itself until the store is back."""
    return await _answer(request, meaning_of(error).status, str(error))


async def broken(request: Request, _: Exception) -> Response:
    """The answer to an unexpected error; the server logs the error."""
    text = "the service has failed: its log says how"
    if request.url.path.startswith(API):
        return problem(500, text)
    return problem_page(request, 500, "This page has failed", text)


async def _answer(request: Request, status: int, text: str) -> Response:
    if request.url.path.startswith(API) or "text/event-stream" in request.headers.get("accept", ""):
        return problem(status, text)
    if request.scope.get("visitor") is not None:
        request.state.frame = await frame_of(request)
    if status == 503 and request.method == "GET":
        return page(request, "away.html", status, problem=text)
    if status == 404 and text == "Not Found":
        return problem_page(request, status, "Not found", f"There is no page {request.url.path[:200]}.")
    return problem_page(request, status, "Not found" if status == 404 else f"Refused ({status})", text)


Endpoint = Callable[[Request], Awaitable[Response]]

STATIC = Path(__file__).parent / "static"

PAGES = (
    Route("/", report_pages.overview),
    Route("/checks", report_pages.checks),
    Route("/lanes", queue_pages.lanes),
    Route("/lane", queue_pages.lane),
    Route("/tasks", task_pages.tasks),
    Route("/task", task_pages.task),
    Route("/submit", task_pages.submit),
    Route("/tasks/bulk", task_pages.confirm),
    Route("/bulk", task_pages.bulk),
    Route("/handlers", report_pages.handlers),
    Route("/handler", report_pages.handler),
    Route("/workers", worker_pages.workers),
    Route("/stacks", worker_pages.stacks),
    Route("/schedules", schedule_pages.schedules),
    Route("/schedule", schedule_pages.schedule),
    Route("/schedules/new", schedule_pages.new_schedule),
    Route("/schedules/edit", schedule_pages.edit_schedule),
    Route("/dead", queue_pages.dead),
    Route("/unreadable", queue_pages.unreadable),
    Route("/unreadable/entry", queue_pages.entry),
    Route("/batches", queue_pages.batches),
    Route("/webhooks", queue_pages.webhooks),
    Route("/batch", queue_pages.batch),
    Route("/events", event_pages.events),
    Route("/activity", event_pages.activity),
)

STREAMS = (Route("/events/stream", live.events), Route("/events/changes", live.changes))


def application(access: QueueAccess, accounts: Accounts, hosts: AllowedHosts, proxy: Proxy | None = None) -> Starlette:
    """The web application of this queue for these accounts, and for the users whom the proxy names."""
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
            *(Route(route.path, framed(route.endpoint)) for route in PAGES),
            *STREAMS,
            Route("/find", find_page.find),
            *(_agent() if access.settings.web_a2a else ()),
            *(Route(change.path, changing(change.answer), methods=["POST"]) for change in CHANGES),
            Route("/schedules/fires", framed(schedule_pages.fires), methods=["POST"]),
            Route("/tasks/chosen", changing(change_chosen), methods=["POST"]),
            Route("/tasks/{task_id:path}", task_pages.task_by_path),
        ],
        middleware=[Middleware(Guard, visitors=visitors, hosts=hosts, failed=failed)],
        exception_handlers={HTTPException: refused, HoldfastError: failed, Exception: broken},
    )
    app.state.access, app.state.visitors = access, visitors
    app.state.problems = problems
    app.state.counts = QueueCounts(access)
    app.state.reports = reports
    app.state.feed, app.state.streams = EventFeed(access), OpenStreams.bounded()
    app.state.refusals, app.state.cards = RefusalBound(), dict[str, float]()
    app.state.bulk_work, app.state.warnings = BulkWork(access), dict[str, str]()
    app.state.memory = worker_pages.MemoryCourses()
    return app


def _agent() -> tuple[Route, ...]:
    """The routes of the agent, which is imported only where it is served."""
    from holdfastd.web.a2a import agent_endpoint

    return agent_endpoint.ROUTES


def framed(endpoint: Endpoint) -> Endpoint:
    """The endpoint of a page, which first reads the frame that every page shows: menu, counts and problems."""

    async def shown(request: Request) -> Response:
        request.state.frame = await frame_of(request)
        return await endpoint(request)

    return shown


def changing(endpoint: Endpoint) -> Endpoint:
    """Wrap the endpoint of a change. After a change that was made, the next page reads the problems and the counts
    again. It also says if Activity does not list the change."""

    async def changed(request: Request) -> Response:
        request.state.frame = await frame_of(request)
        answer = await endpoint(request)
        if WARNING in request.scope and answer.status_code == 303:
            request.app.state.warnings[visitor_of(request).name] = request.scope[WARNING]
        request.app.state.problems.forget()
        request.app.state.counts.forget()
        return answer

    return changed


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")
