"""The endpoint of the agent: one URL for both versions of A2A. Requests are JSON-RPC, answers JSON or event streams."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgspec
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.client.submission import trace_of_header
from holdfast.errors import HoldfastError
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.operations.act import Face
from holdfastd.operations.error_statuses import meaning_of
from holdfastd.web.a2a.agent_card import CARD_PATHS, EXTENDED_PATH, PATH, agent_card, extended_agent_card
from holdfastd.web.a2a.methods import UNKNOWN, Agent, Asking, Method, change_of, method_of
from holdfastd.web.access.accounts import Login
from holdfastd.web.access.forms import check_may, doing, noted, read_body, visitor_of
from holdfastd.web.live.stream_response import TooManyStreamsError, held, stream
from holdfastd.web.queue.queue_access import queue_of

# JSON-RPC 2.0: reads a request, writes answers and errors.

P = TypeVar("P")

DOMAIN = "a2a-protocol.org"

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


OPAQUE = frozenset({"metadata", "data"})  # the contents of these fields belong to the client and stay unchanged
_UNDERSCORE = re.compile(r"_([a-z])")
DEPTH = 8  # levels of the parameters that are looked at; no method has more


def _given(value: object, depth: int = DEPTH) -> object:
    """The fields of a request, read by the rules of ProtoJSON. A null is a missing field, except in `data`. A field may
    have its proto name (`task_id` for `taskId`)."""
    if depth and isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {
            _UNDERSCORE.sub(_capital, name): each if name in OPAQUE else _given(each, depth - 1)
            for name, each in fields.items()
            if each is not None or name == "data"
        }
    if depth and isinstance(value, list):
        return [_given(each, depth - 1) for each in cast("list[object]", value)]
    return value


def _capital(found: re.Match[str]) -> str:
    return found[1].upper()


@dataclass(slots=True)
class RpcCall:
    """A JSON-RPC request. `call_id` is None for a request without an id, and until `take` has read the id."""

    call_id: str | int | None = None
    method: str = ""
    params: object = None

    def take(self, body: bytes) -> None:
        """Read the request. The id comes first, so that the answer to an error has the id. Raises RpcError."""
        try:
            request = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RpcError(RpcCode.PARSE_ERROR, f"the body is not JSON: {error}") from None
        if isinstance(request, list):
            raise RpcError(RpcCode.INVALID_REQUEST, "batch requests are not served: send one request at a time")
        if not isinstance(request, dict):
            raise RpcError(RpcCode.INVALID_REQUEST, "a JSON-RPC request must be a JSON object")
        self._take_fields(cast("dict[str, Any]", request))

    def _take_fields(self, request: dict[str, Any]) -> None:
        call_id, method = request.get("id"), request.get("method")
        if call_id is not None and type(call_id) not in (str, int):
            raise RpcError(RpcCode.INVALID_REQUEST, "id: a text, a whole number or null is expected")
        self.call_id = call_id
        if request.get("jsonrpc") != "2.0":
            raise RpcError(RpcCode.INVALID_REQUEST, 'jsonrpc: "2.0" is expected')
        if not isinstance(method, str) or not method:
            raise RpcError(RpcCode.INVALID_REQUEST, "method: a text is expected")
        self.method, self.params = method, request.get("params")

    @property
    def about(self) -> str:
        """The id of the task in the unchecked parameters, `new task` for a message without one, else empty."""
        fields = _fields(self.params)
        of_message = self._task_of_message or "new task" if isinstance(fields.get("message"), dict) else ""
        return str(of_message or _task(fields) or fields.get("id") or "")

    @property
    def change(self) -> str:
        """The name in Activity of the requested change, found in the unchecked parameters."""
        return change_of(self.method, bool(self._task_of_message))

    @property
    def _task_of_message(self) -> object:
        return _task(_fields(_fields(self.params).get("message")))

    def read_params(self, kind: type[P]) -> P:
        """The parameters as a value of this type. Raises RpcError, which names the wrong field."""
        try:
            return msgspec.convert({} if self.params is None else _given(self.params), kind)
        except msgspec.ValidationError as error:
            raise RpcError(RpcCode.INVALID_PARAMS, f"params: {error}") from None

    def answer(self, result: object) -> bytes:
        return _encode({"jsonrpc": "2.0", "id": self.call_id, "result": result})

    def failure(self, error: RpcError) -> bytes:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": error.code.name, "domain": DOMAIN}
        told = {"code": int(error.code), "message": error.message, "data": [info]}
        return _encode({"jsonrpc": "2.0", "id": self.call_id, "error": told})


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _task(fields: dict[str, Any]) -> object:
    return fields.get("taskId") or fields.get("task_id")


VERSION_HEADER = "a2a-version"
AROUND = 65536  # bytes that a request may have besides its message

_log = structlog.get_logger("holdfast.web")


async def endpoint(request: Request) -> Response:
    """Answer a request with a JSON-RPC result or error."""
    call = RpcCall()
    try:
        return await _answer(request, call)
    except ClientDisconnect:  # nobody waits for an answer
        raise
    except Exception as error:
        known = _told(request, error)
        answer = _json(call.failure(known), known.status)
        answer.headers.update((error.headers or {}) if isinstance(error, HTTPException) else {})
        return answer


async def _answer(request: Request, call: RpcCall) -> Response:
    method = await _method(request, call)
    if not method.streams:
        async with _asking(request, call, method) as asking:
            result = await method.call(asking)
        return _json(call.answer(result))
    try:
        return await stream(request, _events(request, call, method), longest=None)
    except TooManyStreamsError:
        async with noted(request, call.change, call.about):
            raise
    except HoldfastError as error:
        raise _without_stream(_known(error), method) from None


async def _method(request: Request, call: RpcCall) -> Method:
    """The called method. If the request is refused before its method is known, Activity gets an entry: the request may
    have asked for a change."""
    async with noted(request, UNKNOWN) as asked:
        if visitor_of(request).login is not Login.HEADER:
            raise RpcError(
                RpcCode.INVALID_REQUEST, "a client must log in with a bearer token in the header Authorization", 403
            )
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RpcError(RpcCode.CONTENT_TYPE_NOT_SUPPORTED, "Content-Type: application/json is expected", 415)
        call.take(await read_body(request, queue_of(request).settings.max_message_bytes + AROUND))
        asked.change, asked.subject = call.change, call.about
        version = request.headers.get(VERSION_HEADER) or request.query_params.get("A2A-Version", "")
        method = method_of(call.method, version.strip())
        asked.change = ""  # from here on, `_asking` notes the change
    return method


@asynccontextmanager
async def _asking(request: Request, call: RpcCall, method: Method) -> AsyncGenerator[Asking]:
    """The values that a method needs to carry out a call. Activity gets an entry for a change, also for a refused
    one."""
    visitor = visitor_of(request)
    async with noted(request, call.change, call.about) as asked:
        if method.act:
            check_may(visitor, method.act)
        yield Asking(
            Agent(queue_of(request)),
            trace_of_header(request.headers.get("traceparent", "")),
            str(request.base_url),
            call.read_params(method.params),
            lambda: held(request),
            doing(queue_of(request), asked, Face.AGENT),
            visitor.may_change,
            None if visitor.may_change else queue_of(request).redaction,
            method.write,
        )


async def _events(request: Request, call: RpcCall, method: Method) -> AsyncGenerator[bytes]:
    """The events of a stream. An error before the first event is raised, and becomes the answer. A later error becomes
    the last event."""
    async with _asking(request, call, method) as asking:
        results = await method.call(asking)
    async with aclosing(results):
        yield _event(call.answer(await anext(results)))
        try:
            async for each in results:
                yield _event(call.answer(each))
        except Exception as error:
            yield _event(call.failure(_told(request, error)))


def _without_stream(error: RpcError, method: Method) -> RpcError:
    """The error of a stream that does not begin. A2A 0.3 wants an HTTP error status for it, too (sections 7.2, 7.9)."""
    if method.version != "0.3" or error.status != 200:
        return error
    return RpcError(error.code, error.message, 404 if error.code is RpcCode.TASK_NOT_FOUND else 400)


def _told(request: Request, error: Exception) -> RpcError:
    """The error for the client, with secrets removed from its text, because the text may quote a damaged record."""
    known = _known(error)
    return RpcError(known.code, queue_of(request).redaction.text(known.message), known.status)


def _known(error: Exception) -> RpcError:
    """The error for the client. An unexpected error is logged, and its text is not sent."""
    match error:
        case RpcError():
            return error
        case HTTPException():
            code = RpcCode.INVALID_REQUEST if error.status_code < 500 else RpcCode.INTERNAL_ERROR
            return RpcError(code, str(error.detail), error.status_code)
        case HoldfastError():
            meaning = meaning_of(error)
            return RpcError(meaning.code, str(error), meaning.rpc_status)
        case _:
            _log.error("a client's call of the A2A agent failed", exc_info=error)
            return RpcError(RpcCode.INTERNAL_ERROR, "internal error", 500)


def _event(document: bytes) -> bytes:
    return b"data: %b\n\n" % document


def _json(document: bytes, status: int = 200) -> Response:
    return Response(document, status, media_type="application/json")


# The URLs of the agent.

ROUTES = (
    *(Route(path, agent_card) for path in CARD_PATHS),
    Route(EXTENDED_PATH, extended_agent_card),
    # Clients post to the URL of the card, some with a slash behind it, and follow no redirect.
    *(Route(path, endpoint, methods=["POST"]) for path in (PATH, f"{PATH}/")),
)
