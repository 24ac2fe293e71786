"""The connection of the bare loop gives each command its own reply, however the bytes arrive."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.apps.loop import Connection

REPLIES = b"*2\r\n$4\r\nloop\r\n$2\r\n{}\r\n*-1\r\n:1\r\n"


class Transport:
    def write(self, data: bytes) -> None:
        """Nobody is at the other end."""


@pytest.mark.parametrize("cut", range(len(REPLIES) + 1))
def test_replies_that_arrive_in_two_pieces(cut: int) -> None:
    async def play() -> list[Any]:
        connection = Connection()
        connection.connection_made(Transport())  # type: ignore[arg-type]  # all that it needs
        replies = [connection.call("BLPOP", "loop", 1), connection.call("BLPOP", "loop", 1), connection.call("HSET")]
        for piece in (REPLIES[:cut], REPLIES[cut:]):
            connection.data_received(piece)
        return list(await asyncio.gather(*replies))

    assert asyncio.run(play()) == [[b"loop", b"{}"], None, 1]
