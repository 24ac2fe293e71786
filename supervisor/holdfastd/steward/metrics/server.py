"""Serves requests from a listening socket: one for each connection, within limits of size, time and number.

With as many connections as there may be, a new one ends one of the address that has the most: clients that connect and
send nothing, or connect again and again, keep nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

import anyio

from holdfastd.control.accept_loop import AcceptLoop
from holdfastd.control.open_connections import OpenConnection, OpenConnections
from holdfastd.steward.metrics.http import END_OF_HEAD, LONGEST_HEAD, Answer, HttpRequest, read_request

MOST_CONNECTIONS = 16
TIME_LIMIT = 10.0  # seconds from the first byte asked for to the last one answered

# A client that is gone, too slow, or sends what is no request.
_GONE = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class MetricsServer:
    def __init__(self, respond: Callable[[HttpRequest], Awaitable[Answer]]) -> None:
        self._respond = respond
        self._connections = OpenConnections(MOST_CONNECTIONS)

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        accepting = AcceptLoop(listener, self._connections, self._connect)
        try:
            await anyio.sleep_forever()
        finally:
            accepting.close()

    async def _connect(self, stream: socket.socket, connection: OpenConnection) -> None:
        reader = asyncio.StreamReader(LONGEST_HEAD)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, stream)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        connection.end = transport.abort
        try:
            if not connection.is_over:
                await self._serve_one(reader, writer)
        finally:
            self._connections.over(connection)
            transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(*_GONE):
            async with asyncio.timeout(TIME_LIMIT):
                answer = await self._answer(await reader.readuntil(END_OF_HEAD))
                if writer.is_closing():  # it has given way, or its client is gone
                    return
                writer.write(answer)
                await writer.drain()
                writer.close()
                await writer.wait_closed()

    async def _answer(self, head: bytes) -> bytes:
        request = read_request(head)
        if isinstance(request, Answer):
            return request.encoded()
        return (await self._respond(request)).encoded(with_body=request.wants_body)
