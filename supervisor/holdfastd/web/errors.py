"""Answers to requests that fail: a page for a browser, a document for a program, with one sentence that says why."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.errors import (
    CannotRetryError,
    HoldfastError,
    InvalidScheduleError,
    InvalidTaskError,
    ScheduleBusyError,
    StoreFullError,
    StoreUnavailableError,
    TaskEndedError,
    TaskOpenError,
    UnknownBatchError,
    UnknownScheduleError,
    UnknownTaskError,
)
from holdfastd.control.errors import ControlError
from holdfastd.web.forms import BadFieldError
from holdfastd.web.rendering import page

STATUSES: tuple[tuple[type[HoldfastError], int], ...] = (
    (UnknownTaskError, 404),
    (UnknownScheduleError, 404),
    (UnknownBatchError, 404),
    (BadFieldError, 400),
    (InvalidTaskError, 400),
    (InvalidScheduleError, 400),
    (TaskEndedError, 409),
    (TaskOpenError, 409),
    (CannotRetryError, 409),
    (ScheduleBusyError, 409),
    (ControlError, 409),
    (StoreFullError, 503),
    (StoreUnavailableError, 503),
)


async def refused(request: Request, error: Exception) -> Response:
    """An HTTPException: the status and the sentence that it has."""
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, str(error.detail))


async def failed(request: Request, error: Exception) -> Response:
    """An error of the queue. While the store is away the page asks again by itself."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    return _answer(request, status, str(error))


def _answer(request: Request, status: int, text: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": text}, status)
    if status == 503 and request.method == "GET":
        return page(request, "away.html", status, problem=text)
    return page(request, "problem.html", status, title=f"Refused ({status})", problem=text)
