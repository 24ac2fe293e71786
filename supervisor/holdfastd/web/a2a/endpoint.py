"""The endpoint of the agent: one address for both versions of A2A, JSON-RPC in, JSON or a stream of events out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from holdfast.client.submit_trace import trace_of_header
from holdfast.errors import HoldfastError
from holdfastd.a2a.rpc_errors import RpcCode, RpcError, rpc_error
from holdfastd.web.a2a.agent import Agent, AgentClient
from holdfastd.web.a2a.json_rpc import RpcCall
from holdfastd.web.a2a.methods import UNKNOWN, Asking, Method, StreamMethod, change_of, method_of
from holdfastd.web.access.asked_change import noted
from holdfastd.web.access.forms import read_body, visitor_of
from holdfastd.web.access.visitor import Login
from holdfastd.web.live.stream_response import TooManyStreamsError, held, stream
from holdfastd.web.queue.activity_notes import origin
from holdfastd.web.queue.queue_access import queue_of

VERSION_HEADER = "a2a-version"
AROUND = 65536  # bytes of a request around its message

_log = structlog.get_logger("holdfast.web")


async def endpoint(request: Request) -> Response:
    """Answers with a result or an error of JSON-RPC, whatever comes."""
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
    match method := await _method(request, call):
        case Method():
            async with _asking(request, call, method) as asking:
                result = await method.call(asking)
            return _json(call.answer(result))
        case StreamMethod():
            try:
                return await stream(request, _events(request, call, method), longest=None)
            except TooManyStreamsError:
                async with noted(request, method.change, call.about):
                    raise
            except HoldfastError as error:
                raise _without_stream(_known(error), method) from None


async def _method(request: Request, call: RpcCall) -> Method | StreamMethod:
    """The method that is called. A request that is refused before it is known may have asked for a change: it is
    written down, unless its method only reads."""
    async with noted(request, UNKNOWN) as asked:
        if visitor_of(request).login is not Login.HEADER:
            raise RpcError(RpcCode.INVALID_REQUEST, "a program logs in with Authorization: Bearer TOKEN", 403)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RpcError(RpcCode.CONTENT_TYPE_NOT_SUPPORTED, "Content-Type: application/json is expected", 415)
        call.take(await read_body(request, queue_of(request).settings.max_message_bytes + AROUND))
        asked.change, asked.subject = change_of(call.method), call.about
        version = request.headers.get(VERSION_HEADER) or request.query_params.get("A2A-Version", "")
        method = method_of(call.method, version.strip())
        asked.change = ""  # the call itself is written down from here on
    return method


@asynccontextmanager
async def _asking(request: Request, call: RpcCall, method: Method | StreamMethod) -> AsyncGenerator[Asking]:
    """The call of a method. A change is written down, also one that is refused here."""
    visitor = visitor_of(request)
    async with noted(request, method.change, call.about) as asked:
        if method.change and not visitor.may_change:
            raise RpcError(RpcCode.INVALID_REQUEST, "a viewer may change nothing: log in as an operator", 403)
        yield Asking(
            Agent(queue_of(request)),
            AgentClient(visitor.name, origin(request), trace_of_header(request.headers.get("traceparent", ""))),
            str(request.base_url),
            call.read_params(method.params),
            lambda: held(request),
            asked,
            visitor.may_change,
            _as_it_is if visitor.may_change else queue_of(request).redaction.value,
        )


def _as_it_is(value: Any) -> Any:
    return value


async def _events(request: Request, call: RpcCall, method: StreamMethod) -> AsyncGenerator[bytes]:
    """Errors of the beginning are raised, and are the answer; a later one is the last event."""
    async with _asking(request, call, method) as asking:
        results = await method.call(asking)
    async with aclosing(results):
        yield _event(call.answer(await anext(results)))
        try:
            async for each in results:
                yield _event(call.answer(each))
        except Exception as error:
            yield _event(call.failure(_told(request, error)))


def _without_stream(error: RpcError, method: StreamMethod) -> RpcError:
    """The error of a stream that does not begin: 0.3 has it as one of HTTP, too (7.2, 7.9)."""
    if method.version != "0.3" or error.status != 200:
        return error
    return RpcError(error.code, error.message, 404 if error.code is RpcCode.TASK_NOT_FOUND else 400)


def _told(request: Request, error: Exception) -> RpcError:
    """The error without secrets: it may quote what a damaged record holds."""
    known = _known(error)
    return RpcError(known.code, queue_of(request).redaction.text(known.message), known.status)


def _known(error: Exception) -> RpcError:
    """The error that the client is told; one that nobody expected is logged, and its text stays here."""
    match error:
        case RpcError():
            return error
        case HTTPException():
            code = RpcCode.INVALID_REQUEST if error.status_code < 500 else RpcCode.INTERNAL_ERROR
            return RpcError(code, str(error.detail), error.status_code)
        case HoldfastError():
            return rpc_error(error)
        case _:
            _log.error("a call of the agent failed", exc_info=error)
            return RpcError(RpcCode.INTERNAL_ERROR, "internal error", 500)


def _event(document: bytes) -> bytes:
    return b"data: %b\n\n" % document


def _json(document: bytes, status: int = 200) -> Response:
    return Response(document, status, media_type="application/json")
