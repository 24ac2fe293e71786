"""Connections are bounded from their accept: no stranger takes all places or all descriptors of the web process."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from holdfast_config.addresses import parse_proxy
from holdfast_config.store_settings import RedisSettings
from holdfastd.control.open_connections import MOST_HALF, OpenConnection, OpenConnections
from holdfastd.web import web_process
from tests.certificates import certificates
from tests.web.streams import WITHIN, Served, served, until

pytestmark = pytest.mark.anyio

HALF = (b"", b"GET /healthz HTTP/1.1\r\nx: ", b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nto")
HELLO = b"\x16\x03\x01\x02\x00\x01"  # of TLS begins so
UNREAD = b"GET /static/htmx.min.js HTTP/1.1\r\nhost: localhost\r\n\r\n" * 400  # more than the buffers of a socket hold
WHOLE = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
MORE = 20
ANY = ssl.create_default_context()
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, Path]:
    """Settings of a server with TLS."""
    made = certificates(tmp_path)
    return {"web_cert_file": made.certificate, "web_key_file": made.key}


async def begun(
    here: Served, stack: AsyncExitStack, sent: bytes, tls: ssl.SSLContext | None = None, of: str = "127.0.0.1"
) -> asyncio.StreamReader:
    """A connection from this address that stays open, after these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", here.port, ssl=tls, local_addr=(of, 0))
    stack.callback(lambda: writer.transport.abort())  # the writer closes if nobody has it
    writer.write(sent)
    await writer.drain()
    return reader


async def answered(here: Served, stack: AsyncExitStack, tls: ssl.SSLContext | None = None) -> asyncio.StreamReader:
    """A connection after a whole request, which has been answered."""
    reader = await begun(here, stack, WHOLE, tls)
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
        await _half_ones_give_way(here, stack, sent)


@pytest.mark.parametrize("sent", [b"", HELLO])
async def test_half_handshakes_of_one_address_keep_nobody_out(
    redis_settings: RedisSettings, tls: dict[str, Path], sent: bytes
) -> None:
    async with served(redis_settings, **tls) as here, AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        await _half_ones_give_way(here, stack, sent, ANY)


async def _half_ones_give_way(
    here: Served, stack: AsyncExitStack, sent: bytes, tls: ssl.SSLContext | None = None
) -> None:
    whole = [await answered(here, stack, tls) for _ in range(3)]  # kept for later requests, and no half ones
    halves = [await begun(here, stack, sent) for _ in range(MOST_HALF + MORE)]
    assert [await is_ended(reader) for reader in halves[:MORE]] == [True] * MORE
    whole += [await answered(here, stack, tls) for _ in range(5)]
    assert not any(reader.at_eof() for reader in (*whole, *halves[MORE + 5 :]))


async def test_half_requests_after_a_handshake_give_way_to_half_handshakes(
    redis_settings: RedisSettings, tls: dict[str, Path]
) -> None:
    async with served(redis_settings, **tls) as here, AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        halves = [await begun(here, stack, HALF[1], ANY) for _ in range(MORE)]
        for _ in range(MOST_HALF):
            await begun(here, stack, b"")
        assert all([await is_ended(reader) for reader in halves])
        await answered(here, stack, ANY)


async def test_a_handshake_that_comes_slowly_loses_its_connection(
    redis_settings: RedisSettings, tls: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_process, "HANDSHAKE", 0.5)
    async with served(redis_settings, **tls) as here, asyncio.timeout(WITHIN):
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        ended = asyncio.create_task(is_ended(reader))
        writer.write(HELLO)
        while not ended.done():
            with suppress(ConnectionError):
                writer.write(b"\0")  # one byte after the other, far fewer than the 512 that are announced
                await asyncio.wait((ended,), timeout=0.1)
        writer.transport.abort()


async def test_requests_of_a_declared_proxy_are_of_many_clients(redis_settings: RedisSettings) -> None:
    trusted = {"web_trust_proxy": "x-user@127.0.0.1", "web_proxy_role": "viewer"}
    async with served(redis_settings, **trusted) as here, AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        halves = [await begun(here, stack, HALF[1]) for _ in range(MOST_HALF + MORE)]
        await answered(here, stack)
        assert not any(reader.at_eof() for reader in halves)


FEW, ADDRESSES = 128, 10  # files that the process may open; addresses of strangers


@contextmanager
def few_places() -> Iterator[None]:
    """The server that is made meanwhile has few places, as if its process might open few files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("is_tls", "sent"), [(False, b""), (False, HALF[2]), (True, b""), (False, WHOLE)])
async def test_connections_of_many_addresses_keep_nobody_out(
    redis_settings: RedisSettings, tls: dict[str, Path], *, is_tls: bool, sent: bytes
) -> None:
    """Each address has fewer than it may have; together they have more than there are places. Those of the address
    that has the most give way, also idle ones after a request: that of an honest client stays open."""
    with few_places():
        most = OpenConnections.bounded().most
        serving = served(redis_settings, **(tls if is_tls else {}))
        here = await serving.__aenter__()
    client = ANY if is_tls else None
    async with AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        stack.push_async_exit(serving)
        honest = await answered(here, stack, client)
        strangers = [
            await begun(here, stack, sent, of=f"127.0.0.{2 + number % ADDRESSES}") for number in range(most * 2)
        ]
        ended = [asyncio.create_task(_end_of(reader)) for reader in strangers]
        await until(lambda: sum(each.done() for each in ended) > most)
        for _ in range(5):
            await answered(here, stack, client)
        assert not honest.at_eof()
        for each in ended:
            each.cancel()


async def test_clients_that_read_no_answer_keep_nobody_out(redis_settings: RedisSettings) -> None:
    """They give way to who connects, before the time for which they may read nothing is over."""
    with few_places():
        most = OpenConnections.bounded().most
        serving = served(redis_settings)
        here = await serving.__aenter__()
    async with AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        stack.push_async_exit(serving)
        for number in range(most):
            stream = socket.socket()
            stack.callback(stream.close)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stream.bind((f"127.0.0.{2 + number % ADDRESSES}", 0))
            stream.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(stream, ("127.0.0.1", here.port))
            with suppress(BlockingIOError):
                stream.send(UNREAD)
            await loop.sock_recv(stream, 1)  # the first answer has begun
        while not await _is_answered(here):
            pass
        for _ in range(5):
            assert await _is_answered(here)


async def _is_answered(here: Served) -> bool:
    async with AsyncExitStack() as stack:
        with suppress(ConnectionError):
            return b" 200 " in await (await begun(here, stack, WHOLE)).readline()
    return False


async def _end_of(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionResetError):
        while await reader.read(1000):
            pass


async def test_a_process_without_descriptors_makes_room_and_goes_on(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, AsyncExitStack() as stack, asyncio.timeout(WITHIN):
        halves = [await begun(here, stack, HALF[1]) for _ in range(5)]
        await answered(here, stack)  # those have been accepted
        with socket.create_connection(("127.0.0.1", here.port)) as waits, no_descriptors():
            waits.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=waits)
            writer.write(WHOLE)
            assert b" 200 " in await reader.readline()
            writer.close()
        assert await is_ended(halves[0])
        await answered(here, stack)


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process can open no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    here = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(int(each.name) for each in Path("/proc/self/fd").iterdir()) + 1, hard)
    )
    try:
        with suppress(OSError):
            for _ in count():
                here.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401 - those before the last one count
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in here:
            os.close(each)


def begin(connections: OpenConnections, peer: str | int, ended: list[str], name: str = "") -> OpenConnection:
    found = connections.begin(peer, lambda: ended.append(name or str(peer)))
    assert found is not None
    return found


def test_each_address_has_its_own_bound_and_only_that() -> None:
    ended: list[str] = []
    open_ones = OpenConnections(proxy=parse_proxy("x-user@10.0.0.0/24"))
    for address in ("192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3"):
        for _ in range(MOST_HALF):
            begin(open_ones, address, ended)
    for peer in (1000, "10.0.0.7", "::ffff:10.0.0.8"):  # the user of a unix socket, and the proxy
        for _ in range(3 * MOST_HALF):
            begin(open_ones, peer, ended)
    assert ended == []
    begin(open_ones, "192.0.2.3", ended)
    assert ended == ["::ffff:192.0.2.3"]


def test_one_network_of_ipv6_is_one_address() -> None:
    ended: list[str] = []
    open_ones = OpenConnections()
    for number in range(MOST_HALF + 3):
        begin(open_ones, f"2001:db8:0:1::{number:x}", ended)
    begin(open_ones, "2001:db8:0:2::1", ended)
    assert len(ended) == 3


def test_a_request_that_has_come_is_half_no_more() -> None:
    ended: list[str] = []
    open_ones = OpenConnections()
    for _ in range(3 * MOST_HALF):
        one = begin(open_ones, "192.0.2.1", ended)
        open_ones.answering(one)
        open_ones.idle(one)
    assert (ended, open_ones.number) == ([], 3 * MOST_HALF)


def test_one_that_is_over_leaves_nothing() -> None:
    open_ones = OpenConnections()
    for _ in range(3 * MOST_HALF):
        one = begin(open_ones, "192.0.2.1", [])
        open_ones.over(one)
        open_ones.half(one)  # a request that came with the end
        open_ones.over(one)
    assert open_ones == OpenConnections(_turn=open_ones._turn)


@pytest.mark.parametrize(
    ("there", "first"),
    [
        (["half A", "half B", "half B"], "half B"),  # of the address that has the most
        (["half A", "half B"], "half A"),  # the oldest
        (["idle A", "idle A", "half B"], "half B"),  # a half one before an idle one
        (["idle A", "half 1000", "half 1000"], "idle A"),  # a stranger's before one of many clients
        (["answering A", "answering A", "idle 1000"], "idle 1000"),
        (["half 1000", "half 33", "half 33"], "half 33"),  # of a unix socket, too, the user who has the most
        (["answering A", "answering B"], None),  # the newcomer is turned away
    ],
)
def test_who_gives_way_when_all_places_are_taken(there: list[str], first: str | None) -> None:
    ended: list[str] = []
    open_ones = OpenConnections(most=len(there))
    for name in there:
        kind, _, peer = name.partition(" ")
        one = begin(open_ones, int(peer) if peer.isdigit() else f"192.0.2.{ord(peer)}", ended, name)
        getattr(open_ones, kind)(one)
    came = open_ones.begin("192.0.2.1", lambda: None)
    assert (came is not None, ended) == (first is not None, [first] if first else [])
    assert open_ones.number == len(there)
