"""The ASGI application of the API: finds the operation, checks the visitor, decodes the request, answers in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import HoldfastError, InvalidScheduleError, InvalidTaskError
from holdfastd.operations.error_statuses import meaning_of
from holdfastd.operations.reading import InvalidArgumentError
from holdfastd.web.access.forms import check_may, check_secret, noted, visitor_of
from holdfastd.web.api import openapi
from holdfastd.web.api.operation import BODY, QUERY, ApiCall, ApiOperation
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.api.request_body import read_json, read_query, read_segments
from holdfastd.web.problems import problem
from holdfastd.web.queue.cached_reports import CurrentProblems, PeriodReports
from holdfastd.web.queue.queue_access import QueueAccess

PREFIX = "/api/v1/"
DESCRIPTION = "openapi.json"
CSRF = "x-csrf-token"
MESSAGES = 4  # a body may be as long as this many messages of the maximum length
_FIELD = re.compile(r"[a-z_]+")
_CAPITAL = re.compile(r"([A-Z])")


@dataclass(frozen=True, slots=True)
class Api:
    """Answers requests below PREFIX."""

    access: QueueAccess
    problems: CurrentProblems
    reports: PeriodReports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        segments = read_segments(request, PREFIX)
        if segments == (DESCRIPTION,) and request.method in ("GET", "HEAD"):
            return Response(openapi.document(), media_type="application/json")
        found = dict(_matching(segments))
        if not found:
            return problem(404, f"no operation {request.url.path[:200]}; {PREFIX}{DESCRIPTION} has all")
        chosen = found.get("GET" if request.method == "HEAD" else request.method)
        if chosen is None:
            allowed = ", ".join(sorted({*found, "HEAD"} if "GET" in found else found))
            return problem(405, f"{request.method} is not allowed here: {allowed}", headers={"allow": allowed})
        return await self._perform(request, *chosen)

    async def _perform(self, request: Request, operation: ApiOperation, path: dict[str, str]) -> Response:
        visitor, given = visitor_of(request), dict[str, Any](path)
        try:
            async with noted(request, operation.act.name if operation.act else "", "/".join(path.values())) as asked:
                if operation.act:
                    check_may(visitor, operation.act)
                    check_secret(visitor, request.headers.get(CSRF, ""))
                given |= await self._decoded(request, operation)
                call = ApiCall(self.access, asked, request, self.problems.wrong, self.reports)
                answer = await operation.function(call, **given)
        except HoldfastError as error:
            detail = self.access.redaction.text(str(error))
            return problem(meaning_of(error).status, detail, _kind(error), _field_of(error, given))
        if isinstance(answer, Response):
            return answer
        shown = self.access.redaction.value(answer)
        return Response(_encoded(shown), call.status, media_type="application/json")

    async def _decoded(self, request: Request, operation: ApiOperation) -> dict[str, Any]:
        hints, found = operation.hints, dict[str, Any]()
        if QUERY in hints:
            found[QUERY] = read_query(request, hints[QUERY])
        if BODY in hints:
            found[BODY] = await read_json(request, hints[BODY], MESSAGES * self.access.settings.max_message_bytes)
        return found


def _matching(segments: tuple[str, ...]) -> Iterator[tuple[str, tuple[ApiOperation, dict[str, str]]]]:
    """For each HTTP method of this path: the operation, and the values of the path's fields."""
    for operation in OPERATIONS:
        if (path := operation.matches(segments)) is not None:
            yield operation.method, (operation, path)


def _kind(error: HoldfastError) -> str:
    """The kind of an error in a problem document: `unknown-task` for UnknownTaskError."""
    return _CAPITAL.sub(r"-\1", type(error).__name__.removesuffix("Error")).lower().strip("-")


def _encoded(answer: object) -> bytes:
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:  # a lone surrogate, in a text that another producer has pushed
        return json.dumps(answer).encode()


def _field_of(error: HoldfastError, given: dict[str, Any]) -> str:
    """The input field that an error is about: `lane`, or `[3].lane` for a task in a list. The error's sentence begins
    with the field."""
    if isinstance(error, InvalidArgumentError) and error.field:
        return error.field
    if not isinstance(error, InvalidTaskError | InvalidScheduleError):
        return ""
    begins = _FIELD.match(str(error))
    places = getattr(error, "__notes__", [])
    known = {*given, *(name for value in given.values() for name in _fields(value))}
    field = begins[0] if begins and begins[0] in known else ""
    return ".".join(filter(None, (*places, field)))


def _fields(value: object) -> tuple[str, ...]:
    one = cast("list[object]", value)[0] if isinstance(value, list) else value
    return one.__struct_fields__ if isinstance(one, msgspec.Struct) else ()
