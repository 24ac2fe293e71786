"""Answers a request with an event stream (text/event-stream) of any messages.

    return await stream(request, messages)   # an async generator of bytes; an error of its first item is the answer

The stream ends with its messages, when its client has gone, when its login has ended, or when the process must stop. It
also ends after an hour: a browser then connects again, and so shows that it is still logged in. A stream of the agent
has no such limit, because its clients do not reconnect by themselves. If no message comes for fifteen seconds, the
process sends a comment, so that proxies keep the connection. The number of open streams is limited, for the dashboard,
the API and the agent together. A stream counts from its request on.

A request that waits for a task before it is answered keeps its connection open like a stream. So it counts and ends
like a stream (`held`).
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfastd.web.access.accounts import Visitor
from holdfastd.web.access.forms import check_login_counts, login_counts, visitor_of
from holdfastd.web.queue.queue_access import queue_of

# Messages of an event stream (text/event-stream), as bytes.

RETRY_MS = 2000  # a browser connects again this long after its connection broke
BEGINNING = b"retry: %d\n\n" % RETRY_MS
HEARTBEAT = b": still here\n\n"

json = msgspec.json.Encoder().encode


def message(data: object, event: str = "", position: str = "") -> bytes:
    """A message of an event stream. `event`: its type; empty for the default type. `position`: its id, which a client
    sends when it connects again."""
    head = f"event: {event}\n" if event else ""
    return b"%sdata: %s\n%s\n" % (head.encode(), json(data), _id(position))


def place(position: str) -> bytes:
    """A message with only a position, for a client that connects again later. The client shows nothing."""
    return _id(position) + b"\n"


def _id(position: str) -> bytes:
    return b"id: %s\n" % position.encode() if position else b""


HEARTBEAT_EVERY = 15.0  # seconds
LONGEST = 3600.0  # seconds of one stream
LOGIN_EVERY = 1.0  # seconds after which a stream checks its login again before it sends anything
LOGINS_EVERY = 1.0  # seconds between two checks of the logins of all streams, also of silent ones
MOST = 2000  # streams at once; fewer if the process may open few files
OTHERS = 200  # files that are left for other requests and the store
RETRY_AFTER = 30  # seconds after which a refused client may ask again


_log = structlog.get_logger("holdfast.web")


class TooManyStreamsError(HTTPException):
    """The process has as many open streams as it may have: try again later."""

    def __init__(self, most: int) -> None:
        text = f"{most} streams and waiting requests are open, the most that are allowed: try again in {RETRY_AFTER} s"
        super().__init__(503, text, {"retry-after": str(RETRY_AFTER)})


@dataclass(slots=True)
class OpenStreams:
    """The streams of the process and their requests, each as a future that is done when the stream is to end."""

    most: int
    open: dict[asyncio.Future[None], Request] = field(default_factory=dict[asyncio.Future[None], Request])
    _watching: asyncio.Task[None] | None = None

    @classmethod
    def bounded(cls) -> OpenStreams:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return cls(MOST if files < 0 else max(1, min(MOST, files - OTHERS)))

    def begin(self, request: Request) -> asyncio.Future[None]:
        """Count the stream of this request. The answer is a future: cancel it to end the stream. Raises
        TooManyStreamsError."""
        if len(self.open) >= self.most:
            raise TooManyStreamsError(self.most)
        over = asyncio.get_running_loop().create_future()
        self.open[over] = request
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        return over

    def ended(self, over: asyncio.Future[None]) -> None:
        self.open.pop(over, None)

    def end(self) -> None:
        for each in self.open:
            each.cancel()

    async def _watch(self) -> None:
        """While streams are open, end those whose login has ended. One check serves all streams of a login."""
        while self.open:
            await asyncio.sleep(LOGINS_EVERY)
            logins = dict[Visitor, list[asyncio.Future[None]]]()
            for over, request in self.open.items():
                logins.setdefault(visitor_of(request), []).append(over)
            looks = (_end_without_login(self.open[streams[0]], streams) for streams in logins.values())
            await asyncio.gather(*looks)


async def _end_without_login(request: Request, streams: list[asyncio.Future[None]]) -> None:
    """End these streams if their common login has ended. `request`: the request of one of these streams."""
    try:
        counts = await login_counts(request)
    except Exception:
        _log.exception("the login behind a live stream could not be checked")
        return
    for each in () if counts else streams:
        each.cancel()


async def stream(request: Request, messages: AsyncGenerator[bytes], *, longest: float | None = LONGEST) -> Response:
    """The answer that streams these messages. `longest`: seconds after which the stream ends; None: no limit. Raises
    TooManyStreamsError, and any error of the first message."""
    streams = _streams_of(request)
    over = streams.begin(request)
    try:
        first = await anext(messages, b"")
    except BaseException:
        streams.ended(over)
        raise
    return EventStreamResponse(request, over, messages, first, longest)


@asynccontextmanager
async def held(request: Request) -> AsyncGenerator[Callable[[Awaitable[object]], Awaitable[None]]]:
    """Let a request wait before it is answered. `wait(work)` returns when the work is done, when the client has gone,
    or when the process must stop. Raises TooManyStreamsError at once, HTTPException 401 when the login has ended."""
    over = _streams_of(request).begin(request)

    async def wait(work: Awaitable[object]) -> None:
        working = asyncio.ensure_future(work)
        try:
            await asyncio.wait((working, over), return_when=asyncio.FIRST_COMPLETED)
            await check_login_counts(request)
            if working.done():
                working.result()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async with _open(request, over, request.receive):
        yield wait


@asynccontextmanager
async def _open(
    request: Request, over: asyncio.Future[None], receive: Receive, longest: float | None = None
) -> AsyncGenerator[None]:
    """Watch a stream until the end of the block: `over` is done when the client has gone, and after `longest` seconds.
    After the block, the stream no longer counts."""
    gone = asyncio.create_task(_until_gone(receive))
    gone.add_done_callback(lambda _: over.cancel())
    too_long = None if longest is None else over.get_loop().call_later(longest, over.cancel)
    try:
        yield
    finally:
        if too_long is not None:
            too_long.cancel()
        _streams_of(request).ended(over)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)


def _streams_of(request: Request) -> OpenStreams:
    streams = request.app.state.streams
    assert isinstance(streams, OpenStreams)
    return streams


class EventStreamResponse(Response):
    media_type = "text/event-stream"

    def __init__(
        self,
        request: Request,
        over: asyncio.Future[None],
        messages: AsyncGenerator[bytes],
        first: bytes,
        longest: float | None,
    ) -> None:
        # The body has no known length, and a proxy must pass each message on at once.
        self.status_code, self.background = 200, None
        self.raw_headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        self._request, self._over, self._longest = request, over, longest
        self._messages, self._first = messages, first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        over = self._over
        async with aclosing(self._messages), _open(self._request, over, receive, self._longest):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await self._send_all(over, send)
            await send({"type": "http.response.body", "body": b""})

    async def _send_all(self, over: asyncio.Future[None], send: Send) -> None:
        message, following, looked_at = self._first, None, time.monotonic()
        shown = queue_of(self._request).redaction.text
        try:
            while not over.done():
                if time.monotonic() - looked_at >= LOGIN_EVERY:
                    if not await login_counts(self._request):
                        return
                    looked_at = time.monotonic()
                await send({"type": "http.response.body", "body": message, "more_body": True})
                following = following or asyncio.create_task(_next(self._messages, shown))
                await asyncio.wait((following, over), timeout=HEARTBEAT_EVERY, return_when=asyncio.FIRST_COMPLETED)
                message = HEARTBEAT
                if following.done():
                    found, following = following.result(), None
                    if found is None:
                        return
                    message = found
        finally:
            if following is not None:
                following.cancel()
                await asyncio.wait((following,))


async def _next(messages: AsyncGenerator[bytes], shown: Callable[[str], str]) -> bytes | None:
    """The next message; None at the end. After an error, the last message says why the stream ends. `shown` removes
    secrets from its text."""
    try:
        return await anext(messages, None)
    except HoldfastError as error:
        return message({"error": shown(str(error))}, "problem")


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
