"""The port of metrics, which has no login: no client takes the answer of another."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from http import HTTPStatus

import pytest

from holdfastd.steward.metrics.serve import MOST_CONNECTIONS, Answer, HttpRequest, MetricsServer

pytestmark = pytest.mark.anyio

WITHIN = 20.0  # seconds, to which no test comes unless it fails
ASKS = b"GET /metrics HTTP/1.1\r\n\r\n"


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def respond(self, _: HttpRequest) -> Answer:
        self.asked.set()
        await self.may_answer.wait()
        return Answer.line(HTTPStatus.OK, "here")


@asynccontextmanager
async def served(slow: Slow) -> AsyncIterator[int]:
    """The port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        serving = asyncio.create_task(MetricsServer(slow.respond).serve(listener))
        yield listener.getsockname()[1]
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


async def connected(stack: AsyncExitStack, port: int, sent: bytes, of: str = "127.0.0.1") -> asyncio.StreamReader:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(of, 0))
    stack.callback(lambda: writer.transport.abort())  # the writer closes if nobody has it
    writer.write(sent)
    await writer.drain()
    return reader


@pytest.mark.parametrize("sent", [b"", b"GET /met", ASKS])
async def test_a_host_with_many_connections_costs_no_other_its_answer(sent: bytes) -> None:
    slow = Slow()
    async with asyncio.timeout(WITHIN), served(slow) as port, AsyncExitStack() as stack:
        scrape = await connected(stack, port, ASKS)
        await slow.asked.wait()
        strangers = [await connected(stack, port, sent, "127.0.0.2") for _ in range(3 * MOST_CONNECTIONS)]
        for each in strangers[: 2 * MOST_CONNECTIONS]:
            with suppress(ConnectionResetError):
                assert await each.read() == b""
        other = await connected(stack, port, ASKS, "127.0.0.3")
        slow.may_answer.set()
        for each in (scrape, other):
            assert (await each.read()).endswith(b"here\n")
