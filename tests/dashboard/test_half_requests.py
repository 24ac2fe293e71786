"""Requests that have not come whole are bounded by address: no stranger takes all connections of the web process."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from holdfast_config.redis_settings import RedisSettings
from holdfast_config.trusted_proxy import parse
from holdfastd.web.http.half_requests import MOST_OF_ADDRESS, HalfRequests
from tests.dashboard.streams import WITHIN, Served, served

pytestmark = pytest.mark.anyio

HALF = (b"", b"GET /healthz HTTP/1.1\r\nx: ", b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nto")
WHOLE = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
MORE = 20


async def begun(here: Served, stack: AsyncExitStack, sent: bytes) -> asyncio.StreamReader:
    """A connection that stays open, after these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
    stack.callback(writer.close)
    writer.write(sent)
    await writer.drain()
    return reader


async def answered(here: Served, stack: AsyncExitStack) -> asyncio.StreamReader:
    """A connection after a whole request, which has been answered."""
    reader = await begun(here, stack, WHOLE)
    assert b" 200 " in await reader.readline()
    return reader


async def is_ended(reader: asyncio.StreamReader) -> bool:
    with suppress(ConnectionResetError):
        return await reader.read() == b""
    return True


@pytest.mark.parametrize("sent", HALF)
async def test_half_requests_of_one_address_keep_nobody_out(redis_settings: RedisSettings, sent: bytes) -> None:
    """Those that were begun first end, and a client of the same address that sends its request is served."""
    async with served(redis_settings) as here, AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        whole = [await answered(here, stack) for _ in range(3)]  # kept for later requests, and no half ones
        halves = [await begun(here, stack, sent) for _ in range(MOST_OF_ADDRESS + MORE)]
        assert [await is_ended(reader) for reader in halves[:MORE]] == [True] * MORE
        whole += [await answered(here, stack) for _ in range(5)]
        assert not any(reader.at_eof() for reader in (*whole, *halves[MORE + 5 :]))


async def test_requests_of_a_declared_proxy_are_of_many_clients(redis_settings: RedisSettings) -> None:
    trusted = {"web_trust_proxy": "x-user@127.0.0.1", "web_proxy_role": "viewer"}
    async with served(redis_settings, **trusted) as here, AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        halves = [await begun(here, stack, HALF[1]) for _ in range(MOST_OF_ADDRESS + MORE)]
        await answered(here, stack)
        assert not any(reader.at_eof() for reader in halves)


class Cut:
    """A connection that notes its end."""

    def __init__(self, ended: list[Cut]) -> None:
        self._ended = ended

    def __call__(self) -> None:
        self._ended.append(self)


def test_each_address_has_its_own_bound_and_only_that() -> None:
    ended: list[Cut] = []
    halves = HalfRequests(parse("x-user@10.0.0.0/24"))
    for address in ("192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3"):
        for _ in range(MOST_OF_ADDRESS):
            halves.begin(address, Cut(ended))
    for address in (None, "10.0.0.7", "::ffff:10.0.0.8"):  # a unix socket and the proxy
        for _ in range(3 * MOST_OF_ADDRESS):
            halves.begin(address, Cut(ended))
    assert ended == []
    halves.begin("192.0.2.3", Cut(ended))
    assert len(ended) == 1


def test_one_network_of_ipv6_is_one_address() -> None:
    ended: list[Cut] = []
    halves = HalfRequests()
    for number in range(MOST_OF_ADDRESS + 3):
        halves.begin(f"2001:db8:0:1::{number:x}", Cut(ended))
    halves.begin("2001:db8:0:2::1", Cut(ended))
    assert len(ended) == 3


def test_a_request_that_has_come_counts_no_more() -> None:
    ended: list[Cut] = []
    halves = HalfRequests()
    for _ in range(3 * MOST_OF_ADDRESS):
        cut = Cut(ended)
        halves.begin("192.0.2.1", cut)
        halves.end("192.0.2.1", cut)
        halves.end("192.0.2.1", cut)
    assert ended == []
    assert halves == HalfRequests()
