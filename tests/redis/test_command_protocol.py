"""Commands over our own protocol, against a server that splits, merges, cuts and delays its answers.

Every answer belongs to its command, over plain, unix and TLS connections, with both event loops.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import hiredis
import pytest
from redis import exceptions

from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.error_mapping import Explained
from holdfast.store.redis.fast_client import Send
from holdfast_config import RedisSettings
from tests.certificates import certificates

pytestmark = pytest.mark.anyio
PONG = b"+PONG\r\n"
CONNECTIONS = 3

Answer = Callable[[asyncio.StreamWriter, bytes], Awaitable[None]]


class Server:
    """Logs in whoever connects, and answers the texts of ECHO as `answer` says: whole, unless a test says otherwise."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self.pings = 0
        self.answer: Answer = whole

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        parser = hiredis.Reader()
        with suppress(ConnectionError):  # the client has left before it had read all
            while data := await reader.read(65536):
                parser.feed(data)
                while (command := parser.gets()) is not False:
                    await self._answer(command, writer)
        writer.close()

    async def _answer(self, command: Sequence[bytes], writer: asyncio.StreamWriter) -> None:
        if command[0] == b"ECHO":
            await self.answer(writer, command[1])
        else:
            self.pings += command[0] == b"PING"
            writer.write(PONG if command[0] == b"PING" else b"+OK\r\n")


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(text), text)


async def whole(writer: asyncio.StreamWriter, text: bytes) -> None:
    writer.write(bulk(text))


async def turns() -> None:
    """Let the client read."""
    for _ in range(4):
        await asyncio.sleep(0)


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture(params=["tcp", "unix", "tls"])
async def server(request: pytest.FixtureRequest, short_path: Path) -> AsyncIterator[Server]:
    made = Server()
    if request.param == "unix":
        socket = short_path / "s"
        served = await asyncio.start_unix_server(made.serve, socket)
        made.url = f"unix://{socket}"
    else:
        files = certificates(short_path) if request.param == "tls" else None
        context = None
        if files is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(files.certificate, files.key)
        served = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=context)
        port = served.sockets[0].getsockname()[1]
        made.url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={files.authority}" if files else f"redis://127.0.0.1:{port}"
    yield made
    served.close()


@pytest.fixture
async def connection(server: Server) -> AsyncIterator[Connection]:
    made = Connection(RedisSettings(server.url, CONNECTIONS, "test", answer_timeout=5.0))
    yield made
    await made.aclose()


async def echoed(connection: Connection, number: int) -> int:
    return int(await connection.command("ECHO", number))


async def test_an_answer_may_be_split_anywhere(server: Server, connection: Connection) -> None:
    for place in range(1, len(bulk(b"12345"))):

        async def split(writer: asyncio.StreamWriter, text: bytes, place: int = place) -> None:
            writer.write(bulk(text)[:place])
            await turns()
            writer.write(bulk(text)[place:])

        server.answer = split
        assert await echoed(connection, 12345) == 12345
    assert server.connections == 1


async def test_a_connection_may_be_cut_anywhere(server: Server, connection: Connection) -> None:
    for place in range(len(bulk(b"12345"))):

        async def cut(writer: asyncio.StreamWriter, text: bytes, place: int = place) -> None:
            writer.write(bulk(text)[:place])
            await turns()
            writer.transport.abort() if place % 2 else writer.close()

        server.answer = cut
        with pytest.raises(StoreUnavailableError):
            await echoed(connection, 12345)
        server.answer = whole
        assert await echoed(connection, place) == place


@pytest.mark.parametrize("late", [False, True])
async def test_an_answer_of_no_command_is_nobodys(server: Server, connection: Connection, late: bool) -> None:
    async def twice(writer: asyncio.StreamWriter, text: bytes) -> None:
        writer.write(bulk(text))
        if late:
            await turns()
        writer.write(bulk(b"666")[:-2])  # of which the end never comes

    server.answer = twice
    assert await echoed(connection, 1) == 1
    with anyio.fail_after(30):
        while any(not protocol.is_spoiled for protocol in idle_of(connection)):
            await anyio.lowlevel.checkpoint()
    server.answer = whole
    assert await echoed(connection, 2) == 2
    assert server.connections == 2


async def test_what_is_no_answer_closes_the_connection(server: Server, connection: Connection) -> None:
    async def nonsense(writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")

    server.answer = nonsense
    with pytest.raises(StoreError, match="is no Redis"):
        await echoed(connection, 1)
    server.answer = whole
    assert await echoed(connection, 2) == 2
    assert server.connections == 2


async def test_an_error_is_an_answer(server: Server, connection: Connection) -> None:
    async def refuse(writer: asyncio.StreamWriter, text: bytes) -> None:
        writer.write(b"-ERR not " + text + b"\r\n")

    server.answer = refuse
    for number in range(3):
        with pytest.raises(StoreError, match=f"not {number}"):
            await echoed(connection, number)
    server.answer = whole
    assert await echoed(connection, 4) == 4
    assert server.connections == 1


async def test_a_server_that_cannot_serve_now_is_asked_over_another_connection(
    server: Server, connection: Connection
) -> None:
    async def loading(writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(b"-LOADING Redis is loading the dataset in memory\r\n")

    server.answer = loading
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        await echoed(connection, 1)
    server.answer = whole
    assert await echoed(connection, 2) == 2
    assert server.connections == 2


def test_an_error_without_a_text_is_told_by_its_name() -> None:
    told = pytest.raises(StoreUnavailableError, match=r"redis://shop cannot be reached: TimeoutError$")
    with told, Explained("redis://shop"):
        raise exceptions.TimeoutError


async def test_a_large_command_and_a_large_answer_arrive_whole(server: Server, connection: Connection) -> None:
    text = b"x" * 5_000_000
    assert await connection.command("ECHO", text) == text
    assert server.connections == 1


async def test_no_answer_comes_to_another_command(server: Server, connection: Connection) -> None:
    """Many callers, of whom some are cancelled, while the server splits, delays and cuts."""
    dice, answered, failed, cancelled = random.Random(3), 0, 0, 0

    async def any_way(writer: asyncio.StreamWriter, text: bytes) -> None:
        answer = bulk(text)
        place = dice.randrange(len(answer) + 1)
        writer.write(answer[:place])
        await asyncio.sleep(dice.choice([0.0, 0.0, 0.001]))  # any order is right
        if writer.is_closing() or (place < len(answer) and dice.random() < 0.1):  # no cut meets the next command
            writer.transport.abort()
        else:
            unasked = bulk(b"666") if place < len(answer) and dice.random() < 0.05 else b""
            writer.write(answer[place:] + unasked)

    async def call(number: int) -> None:
        nonlocal answered, failed, cancelled
        with anyio.move_on_after(dice.choice([0.0, 0.0005, 0.002, 5.0, 5.0])) as scope:
            try:
                assert await echoed(connection, number) == number
                answered += 1
            except StoreUnavailableError:
                failed += 1
        cancelled += scope.cancelled_caught

    server.answer = any_way
    for start in range(1000, 1600, 10):
        async with anyio.create_task_group() as group:
            for number in range(start, start + 10):
                group.start_soon(call, number)
    assert min(answered, failed, cancelled) > 10
    assert answered + failed + cancelled == 600
    server.answer = whole
    assert [await echoed(connection, number) for number in range(20)] == list(range(20))


async def test_no_answer_in_time_ends_the_command_and_its_connection(server: Server) -> None:
    """The time of each command counts from its own beginning, though one timer serves many."""

    async def never(_: asyncio.StreamWriter, text: bytes) -> None:
        del text

    made = Connection(RedisSettings(server.url, CONNECTIONS, "test", answer_timeout=0.2))
    try:
        assert await echoed(made, 1) == 1
        server.answer = never
        for _ in range(2):
            await asyncio.sleep(0.1)  # the timer of the command before goes on meanwhile
            begun = asyncio.get_running_loop().time()
            with pytest.raises(StoreUnavailableError, match=r"no answer within 0\.2 s"):
                await echoed(made, 2)
            assert asyncio.get_running_loop().time() - begun >= 0.19
        server.answer = whole
        assert await echoed(made, 3) == 3
        assert server.connections == 3
    finally:
        await made.aclose()


async def test_a_connection_that_was_silent_for_long_is_pinged_before_its_next_command(
    server: Server, connection: Connection
) -> None:
    assert await echoed(connection, 1) == 1
    at_login = server.pings
    assert await echoed(connection, 2) == 2
    assert server.pings == at_login
    [protocol] = idle_of(connection)
    protocol._pinged_after = 0.0  # pyright: ignore[reportPrivateUsage]  # in place of 15 s
    assert await echoed(connection, 3) == 3
    assert server.pings == at_login + 1


async def test_a_connection_goes_back_to_the_pool_as_it_was(server: Server, connection: Connection) -> None:
    assert await echoed(connection, 1) == 1
    await connection.client.give_back_idle()
    own: Any = await connection.client.connection_pool.get_connection()
    await own.send_command("ECHO", 2)
    assert await own.read_response() == b"2"
    await connection.client.connection_pool.release(own)
    assert await echoed(connection, 3) == 3
    assert server.connections == 1


def idle_of(connection: Connection) -> list[Any]:
    client: Any = connection.client
    return list(client._idle)


async def both(connection: Connection, first: int, second: int, *, seconds: float = 5.0) -> tuple[int, int]:
    """The answers of a command and of another that is sent behind it."""

    def send(sender: Send | None) -> None:
        if sender is not None:
            assert sender("ECHO", second)

    answers = await connection.wait(seconds, send, "ECHO", first)
    return int(answers[0]), int(answers[1])


async def test_two_answers_may_be_split_and_merged_anywhere(server: Server, connection: Connection) -> None:
    whole_stream = bulk(b"1234") + bulk(b"5678")
    for place in range(len(whole_stream) + 1):
        before = bytearray()

        async def gather(
            writer: asyncio.StreamWriter, text: bytes, before: bytearray = before, place: int = place
        ) -> None:
            before += bulk(text)
            if len(before) == len(whole_stream):
                writer.write(before[:place])
                await turns()
                writer.write(before[place:])

        server.answer = gather
        assert await both(connection, 1234, 5678) == (1234, 5678)
        server.answer = whole
        assert await both(connection, 1, 2) == (1, 2)
    assert server.connections == 1


async def test_a_connection_may_be_cut_anywhere_amid_two_answers(server: Server, connection: Connection) -> None:
    whole_stream = bulk(b"1234") + bulk(b"5678")
    for place in range(len(whole_stream)):
        before = bytearray()

        async def cut(
            writer: asyncio.StreamWriter, text: bytes, before: bytearray = before, place: int = place
        ) -> None:
            before += bulk(text)
            if len(before) == len(whole_stream):
                writer.write(before[:place])
                await turns()
                writer.transport.abort() if place % 2 else writer.close()

        server.answer = cut
        with pytest.raises(StoreUnavailableError):
            await both(connection, 1234, 5678)
        server.answer = whole
        assert await both(connection, place, 7) == (place, 7)


async def test_an_error_as_either_answer_closes_the_connection(server: Server, connection: Connection) -> None:
    for refused in (b"1", b"2"):

        async def refuse(writer: asyncio.StreamWriter, text: bytes, refused: bytes = refused) -> None:
            writer.write(b"-ERR not " + text + b"\r\n" if text == refused else bulk(text))

        server.answer = refuse
        with pytest.raises(StoreError, match=f"not {refused.decode()}"):
            await both(connection, 1, 2)
        server.answer = whole
        assert await both(connection, 3, 4) == (3, 4)
    assert server.connections == 3


async def test_the_second_answer_may_not_take_long_after_the_first(server: Server) -> None:
    connection = Connection(RedisSettings(server.url, CONNECTIONS, "test", answer_timeout=0.05))

    async def once(writer: asyncio.StreamWriter, text: bytes) -> None:
        if text == b"1":
            writer.write(bulk(text))

    server.answer = once
    with anyio.fail_after(20.0), pytest.raises(StoreUnavailableError):
        await both(connection, 1, 2, seconds=30.0)
    await connection.aclose()


async def test_behind_an_answer_that_has_come_nothing_is_sent(server: Server, connection: Connection) -> None:
    senders = list[Send | None]()
    assert await connection.wait(5.0, senders.append, "ECHO", 1) == (b"1", None)
    sender = senders[0]
    assert sender is not None
    assert senders[-1] is None
    assert not sender("ECHO", 2)
    assert await echoed(connection, 3) == 3
    assert not any(protocol.is_spoiled for protocol in idle_of(connection))


async def test_a_caller_that_gives_up_between_two_answers_closes_the_connection(
    server: Server, connection: Connection
) -> None:
    asked = anyio.Event()

    async def first_alone(writer: asyncio.StreamWriter, text: bytes) -> None:
        if text == b"1":
            writer.write(bulk(text))
        else:
            asked.set()

    server.answer = first_alone
    async with anyio.create_task_group() as group:
        group.start_soon(both, connection, 1, 2)
        await asked.wait()
        group.cancel_scope.cancel()
    server.answer = whole
    assert await both(connection, 3, 4) == (3, 4)
    assert server.connections == 2
