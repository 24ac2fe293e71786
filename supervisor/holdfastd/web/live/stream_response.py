"""Answers with an event stream (text/event-stream), whatever its messages are about.

    return await stream(request, messages)   # an async generator of bytes; an error of its first item is the answer

The stream ends with its messages, when its client has gone or its login counts no more, when the process is told to
stop, and after an hour: then a browser connects again, and shows that it is still logged in. While nothing comes, a
comment every fifteen seconds keeps proxies from closing it. Only so many streams are open at once.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import visitor_of
from holdfastd.web.live.messages import HEARTBEAT, message

HEARTBEAT_EVERY = 15.0  # seconds
LONGEST = 3600.0  # seconds of one stream
LOGIN_EVERY = 1.0  # seconds after which the login is looked at again, before anything else is sent
MOST = 2000  # streams at once, fewer where the process may open few files
OTHERS = 200  # files that other requests and the store may need
RETRY_AFTER = 30  # seconds after which a client that was refused may ask again


@dataclass(slots=True)
class OpenStreams:
    """The streams of the process, each as a task that ends with it."""

    most: int
    open: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @classmethod
    def bounded(cls) -> OpenStreams:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return cls(MOST if files < 0 else max(1, min(MOST, files - OTHERS)))

    def end(self) -> None:
        for each in self.open:
            each.cancel()


async def stream(request: Request, messages: AsyncGenerator[bytes]) -> Response:
    """Raises HTTPException 503 if too many streams are open, and the error of the first message."""
    streams: OpenStreams = request.app.state.streams
    if len(streams.open) >= streams.most:
        text = f"{streams.most} streams of events are open, the most that are allowed: try again in {RETRY_AFTER} s"
        raise HTTPException(503, text, {"retry-after": str(RETRY_AFTER)})
    first = await anext(messages, b"")
    visitor, visitors = visitor_of(request), request.app.state.visitors
    return EventStreamResponse(streams, messages, first, lambda: visitors.keeps(visitor, request.scope))


class EventStreamResponse(Response):
    media_type = "text/event-stream"

    def __init__(
        self, streams: OpenStreams, messages: AsyncGenerator[bytes], first: bytes, may_read: Callable[[], bool]
    ) -> None:
        # The body has no length, and a proxy may not collect it.
        self.status_code, self.background = 200, None
        self.raw_headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        self._streams, self._messages, self._first, self._may_read = streams, messages, first, may_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        over = asyncio.create_task(_until_gone(receive))
        self._streams.open.add(over)
        too_long = asyncio.get_running_loop().call_later(LONGEST, over.cancel)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await self._send_all(over, send)
            await send({"type": "http.response.body", "body": b""})
        finally:
            too_long.cancel()
            over.cancel()
            self._streams.open.discard(over)
            await self._messages.aclose()

    async def _send_all(self, over: asyncio.Task[None], send: Send) -> None:
        message, following, looked_at = self._first, None, time.monotonic()
        try:
            while not over.done():
                if time.monotonic() - looked_at >= LOGIN_EVERY:
                    if not self._may_read():
                        return
                    looked_at = time.monotonic()
                await send({"type": "http.response.body", "body": message, "more_body": True})
                following = following or asyncio.create_task(_next(self._messages))
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


async def _next(messages: AsyncGenerator[bytes]) -> bytes | None:
    """None at the end. A stream whose answer has begun says in a message why it ends."""
    try:
        return await anext(messages, None)
    except HoldfastError as error:
        return message({"error": str(error)}, "problem")


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
