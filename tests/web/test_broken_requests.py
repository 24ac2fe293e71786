"""Requests of strangers that are broken, cut off or odd cost the process nothing: no error in its log, no traceback."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from contextlib import suppress

import pytest

from holdfast_config import RedisSettings
from tests.web.streams import TOKEN, WITHIN, Served, served

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n"
AS_OPERATOR = f"Authorization: Bearer {TOKEN}\r\n".encode()
BROKEN = (  # in pieces, each sent when the one before has been read
    (b"POST /login " + CHUNKED + b"\r\n", b"zz\r\n"),
    (b"POST /login " + CHUNKED + b"\r\n", b"5\r\nab"),
    (b"POST /login " + CHUNKED + b"\r\n", b"1\r\naXX"),
    (b"POST /login " + CHUNKED + b"\r\n", b"-1\r\n"),
    (b"POST /login " + CHUNKED + b"\r\n", b"f" * 40_000),
    (b"POST /login " + CHUNKED + b"\r\nzz\r\n",),
    (b"GET /healthz " + CHUNKED + b"\r\nzz\r\n",),  # broken before its answer is made
    (b"POST /login " + HEAD + b"Content-Length: 9\r\n\r\n", b"token="),
    (b"POST /login " + HEAD + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",),
    (b"POST /login " + HEAD + b"Content-Length: x\r\n\r\n",),
    (b"POST /login " + HEAD + b"Origin: http://[\r\nContent-Length: 0\r\n\r\n",),
    (b"POST /login?next=%0d%0aX:y " + HEAD + b"Content-Length: 6\r\n\r\ntoken=",),
    (b"POST /nowhere " + CHUNKED + b"\r\n", b"zz\r\n"),  # refused before its body is read
    (b"POST /nowhere " + CHUNKED + b"\r\n3\r\nabc\r\n", b"zz\r\n"),
    (b"POST /static/pages.js " + CHUNKED + b"\r\n", b"zz\r\n"),
    (b"POST /api/v1/tasks " + CHUNKED + AS_OPERATOR + b"Content-Type: application/json\r\n\r\n", b"zz\r\n"),
    (
        b"POST /api/v1/tasks " + HEAD + AS_OPERATOR + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n",
        b"{",
    ),
    (b"POST /tasks/bulk " + CHUNKED + AS_OPERATOR + b"\r\n", b"zz\r\n"),
    (b"POST /a2a " + CHUNKED + AS_OPERATOR + b"Content-Type: application/json\r\n\r\n", b"zz\r\n"),
    (b"GET /events/stream " + HEAD + AS_OPERATOR + b"\r\n", b"zz\r\n"),
    (b"GET /login " + HEAD + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",),
    (b"GET /login HTTP/1.1\r\nHost: [::1\r\n\r\n",),
    (b"GET /login HTTP/1.1\r\nHost: 127.0.0.1:x[\r\n\r\n",),
    (b"GET /login HTTP/1.1\r\nHost: [fe80::1%25a/b]\r\n\r\n",),
    (b"GET /%ff%00/%2e%2e " + HEAD + b"\r\n",),
    (b"GET /static/%00 " + HEAD + b"\r\n",),
    (b"GET /static/" + b"a" * 5000 + b" " + HEAD + b"\r\n",),
    (b"GET http://[/login " + HEAD + b"\r\n",),
    (b"GET /login " + HEAD + b"Cookie: holdfast_session=\xff\xfe; ===;;\r\n\r\n",),
    (b"GET /login " + HEAD + b"Authorization: Basic \xff\r\n\r\n",),
    (b"GET /login HTTP/1.1\r\n\r\n",),
    (b"GET / HTTP/1.0\r\n\r\n",),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),),  # TLS where none is spoken
)


async def sent(here: Served, pieces: tuple[bytes, ...], *, cut: bool) -> None:
    """Send these pieces and read what is answered; with `cut` the client resets the connection behind them instead."""
    loop = asyncio.get_running_loop()
    with socket.create_connection(("127.0.0.1", here.port)) as client, suppress(OSError):  # refused, and closed
        client.setblocking(False)
        if cut:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for piece in pieces:
            await loop.sock_sendall(client, piece)
            await healthy(here)  # the process has seen the piece before
        if not cut:
            client.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(WITHIN):
                await loop.sock_recv(client, 65_536)


async def healthy(here: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
    writer.write(b"GET /healthz " + HEAD + b"Connection: close\r\n\r\n")
    async with asyncio.timeout(WITHIN):
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()


@pytest.mark.parametrize("cut", [False, True])
async def test_no_request_of_a_stranger_is_an_error_of_the_process(
    redis_settings: RedisSettings, caplog: pytest.LogCaptureFixture, cut: bool
) -> None:
    loop, failed = asyncio.get_running_loop(), list[str]()
    loop.set_exception_handler(lambda _, context: failed.append(str(context)))
    async with served(redis_settings, web_a2a=True) as here:
        for pieces in BROKEN:
            await sent(here, pieces, cut=cut)
            await healthy(here)
            errors = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
            assert (errors, failed) == ([], []), pieces


async def test_a_request_that_breaks_within_its_answer_ends_it(
    redis_settings: RedisSettings, caplog: pytest.LogCaptureFixture
) -> None:
    loop, failed = asyncio.get_running_loop(), list[str]()
    loop.set_exception_handler(lambda _, context: failed.append(str(context)))
    async with served(redis_settings, web_a2a=True) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(b"GET /events/stream " + CHUNKED + AS_OPERATOR + b"\r\n")
        async with asyncio.timeout(WITHIN):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            writer.write(b"zz\r\n")
            with suppress(ConnectionError):
                await reader.read()
        writer.close()
        await healthy(here)
        assert ([each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR], failed) == ([], [])


async def test_a_request_in_chunks_is_the_last_of_its_connection(redis_settings: RedisSettings) -> None:
    """Whatever a proxy in front takes for the end of a chunk, no second request follows that it has not seen."""
    body = b"3\r\nx=y\r\n0\r\n\r\n"
    async with served(redis_settings, web_a2a=True) as here:
        for path in (b"/login", b"/nowhere", b"/healthz"):
            reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
            writer.write(b"POST " + path + b" " + CHUNKED + b"\r\n" + body + b"GET /healthz " + HEAD + b"\r\n")
            async with asyncio.timeout(WITHIN):
                answered = await reader.read()
            assert answered.count(b"HTTP/1.1 ") == 1, answered
            writer.close()
