"""The port of metrics, which has no login: no client takes the answer of another."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from http import HTTPStatus

import pytest

from holdfast_config import Settings
from holdfastd.steward.metrics.serve import MOST_CONNECTIONS, HttpRequest, MetricsAnswer, MetricsServer, hosts_of

pytestmark = pytest.mark.anyio

WITHIN = 20.0  # seconds, to which no test comes unless it fails
ASKS = b"GET /metrics HTTP/1.1\r\n\r\n"


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def respond(self, _: HttpRequest) -> MetricsAnswer:
        self.asked.set()
        await self.may_answer.wait()
        return MetricsAnswer.line(HTTPStatus.OK, "here")


@asynccontextmanager
async def served(slow: Slow, of: str = "127.0.0.1") -> AsyncIterator[int]:
    """The port."""
    with closing(socket.create_server((of, 0))) as listener:
        serving = asyncio.create_task(MetricsServer(slow.respond, hosts_of(listener, Settings())).serve(listener))
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


@pytest.mark.parametrize(
    ("of", "host", "status"),
    [
        ("127.0.0.1", "rebound.example:9464", b"421"),
        ("127.0.0.1", "127.0.0.1.example", b"421"),
        ("127.0.0.1", "localhost:9464", b"200"),
        ("127.0.0.1", "127.0.0.1:9464", b"200"),
        ("0.0.0.0", "this-host.example:9464", b"200"),
    ],
)
async def test_a_site_that_rebinds_its_name_to_loopback_reads_nothing(of: str, host: str, status: bytes) -> None:
    slow = Slow()
    slow.may_answer.set()
    async with asyncio.timeout(WITHIN), served(slow, of) as port, AsyncExitStack() as stack:
        asked = await connected(stack, port, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert (await asked.read()).split()[1] == status
