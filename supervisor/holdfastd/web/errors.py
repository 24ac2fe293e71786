"""Answers to requests that fail: a page for a browser, a document for a program, with one sentence that says why."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from holdfastd.operations.errors import meaning_of
from holdfastd.web.http.problems import API, problem
from holdfastd.web.rendering import page


async def refused(request: Request, error: Exception) -> Response:
    """An HTTPException: the status and the sentence that it has."""
    assert isinstance(error, HTTPException)
    answer = _answer(request, error.status_code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def failed(request: Request, error: Exception) -> Response:
    """An error of the queue. While the store is away the page asks again by itself."""
    return _answer(request, meaning_of(error).status, str(error))


async def broken(request: Request, _: Exception) -> Response:
    """An error that nobody has foreseen; the server logs it."""
    text = "the service has failed: its log says how"
    return problem(500, text) if request.url.path.startswith(API) else PlainTextResponse(f"{text}\n", 500)


def _answer(request: Request, status: int, text: str) -> Response:
    if request.url.path.startswith(API) or "text/event-stream" in request.headers.get("accept", ""):
        return problem(status, text)
    if status == 503 and request.method == "GET":
        return page(request, "away.html", status, problem=text)
    return page(request, "problem.html", status, title=f"Refused ({status})", problem=text)
