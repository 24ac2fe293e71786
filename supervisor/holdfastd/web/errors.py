"""Answers to requests that fail: a page for a browser, a document for a program, with one sentence that says why."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from holdfast.errors import (
    BatchClosedError,
    BatchConflictError,
    CannotRetryError,
    HoldfastError,
    InvalidScheduleError,
    InvalidTaskError,
    LaneTypeError,
    MessageConflictError,
    QueueBusyError,
    ScheduleBusyError,
    StoreFullError,
    StoreRefusedError,
    StoreUnavailableError,
    TaskEndedError,
    TaskOpenError,
    TooManyMessagesError,
    UnknownBatchError,
    UnknownScheduleError,
    UnknownTaskError,
    UnreadableRecordError,
    UnreadableScheduleError,
)
from holdfastd.control.socket_protocol import ControlError
from holdfastd.operations.errors import NotFoundError, NotPossibleError
from holdfastd.operations.known import UnknownNameError
from holdfastd.web.access.forms import BadFieldError
from holdfastd.web.http.problems import API, problem
from holdfastd.web.rendering import page

STATUSES: tuple[tuple[type[HoldfastError], int], ...] = (
    (NotFoundError, 404),
    (UnknownNameError, 404),
    (NotPossibleError, 409),
    (UnknownTaskError, 404),
    (UnknownScheduleError, 404),
    (UnknownBatchError, 404),
    (BadFieldError, 400),
    (LaneTypeError, 409),
    (InvalidTaskError, 400),
    (InvalidScheduleError, 400),
    (TaskEndedError, 409),
    (TaskOpenError, 409),
    (CannotRetryError, 409),
    (ScheduleBusyError, 409),
    (ControlError, 409),
    (MessageConflictError, 409),
    (BatchConflictError, 409),
    (BatchClosedError, 409),
    (QueueBusyError, 409),
    (TooManyMessagesError, 429),
    (UnreadableRecordError, 502),
    (UnreadableScheduleError, 502),
    (StoreRefusedError, 503),
    (StoreFullError, 503),
    (StoreUnavailableError, 503),
)


async def refused(request: Request, error: Exception) -> Response:
    """An HTTPException: the status and the sentence that it has."""
    assert isinstance(error, HTTPException)
    answer = _answer(request, error.status_code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def failed(request: Request, error: Exception) -> Response:
    """An error of the queue. While the store is away the page asks again by itself."""
    status = status_of(error)
    return _answer(request, status, str(error))


async def broken(request: Request, _: Exception) -> Response:
    """An error that nobody has foreseen; the server logs it."""
    text = "the service has failed: its log says how"
    return problem(500, text) if request.url.path.startswith(API) else PlainTextResponse(f"{text}\n", 500)


def status_of(error: Exception) -> int:
    """The status of an error of the queue; 500 for one that is not known here."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def _answer(request: Request, status: int, text: str) -> Response:
    if request.url.path.startswith(API) or "text/event-stream" in request.headers.get("accept", ""):
        return problem(status, text)
    if status == 503 and request.method == "GET":
        return page(request, "away.html", status, problem=text)
    return page(request, "problem.html", status, title=f"Refused ({status})", problem=text)
