"""Serves requests from a listening socket: one for each connection, within limits of size, time and number.

With as many connections as there may be, a new one ends the one that has been open longest: clients that connect and
send nothing keep nobody out.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import anyio

from holdfastd.steward.metrics.http import END_OF_HEAD, LONGEST_HEAD, Answer, HttpRequest, read_request

MOST_CONNECTIONS = 16
TIME_LIMIT = 10.0  # seconds from the first byte asked for to the last one answered

# A client that is gone, too slow, or sends what is no request.
_GONE = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class MetricsServer:
    def __init__(self, respond: Callable[[HttpRequest], Awaitable[Answer]]) -> None:
        self._respond = respond
        self._open: dict[asyncio.StreamWriter, None] = {}  # the oldest first

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        start = asyncio.start_unix_server if listener.family == socket.AF_UNIX else asyncio.start_server
        server = await start(self._connected, sock=listener, limit=LONGEST_HEAD)
        try:
            await anyio.sleep_forever()
        finally:
            server.close()
            for writer in list(self._open):
                writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_CONNECTIONS:
            next(iter(self._open)).transport.abort()
        self._open[writer] = None
        try:
            async with asyncio.timeout(TIME_LIMIT):
                writer.write(await self._answer(await reader.readuntil(END_OF_HEAD)))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except _GONE:
            pass
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    async def _answer(self, head: bytes) -> bytes:
        request = read_request(head)
        if isinstance(request, Answer):
            return request.encoded()
        return (await self._respond(request)).encoded(with_body=request.wants_body)
