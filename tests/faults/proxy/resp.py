"""RESP2, both directions: where a value ends, and what a request asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream

from holdfast.store.redis.clients import NO_SETTLEMENTS
from holdfast.store.redis.scripts import product

GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


def end(buffer: bytes | bytearray, start: int = 0) -> int | None:
    """The offset behind the value that begins at `start`, or None while it is incomplete."""
    line = buffer.find(b"\r\n", start)
    if line < 0:
        return None
    kind, after = buffer[start], line + 2
    if kind not in b"$*":
        return after
    count = int(buffer[start + 1 : line])
    if kind == ord("$"):
        after += count + 2 if count >= 0 else 0
        return after if after <= len(buffer) else None
    for _ in range(count):
        following = end(buffer, after)
        if following is None:
            return None
        after = following
    return after


async def values(stream: ByteStream) -> AsyncIterator[bytes]:
    """Each value as its bytes, until the other side is gone."""
    buffer = bytearray()
    while True:
        while (length := end(buffer)) is not None:
            yield bytes(buffer[:length])
            del buffer[:length]
        try:
            buffer += await stream.receive()
        except GONE:
            return


@dataclass(frozen=True, slots=True)
class Request:
    """`name`: a script's name; `settle` for a pull that carries settlements; any other command in capitals, `BLPOP` for
    one that waits for bells and `BLPOP control` for one that waits for hints alone. One that is sent before the answer
    of an earlier one has come is `<name> behind`."""

    name: str
    words: tuple[bytes, ...]
    raw: bytes

    @classmethod
    def of(cls, raw: bytes, *, behind: bool = False) -> Request:
        words = tuple(strings(raw))
        return cls(_name(words) + " behind" * behind, words, raw)


def strings(raw: bytes) -> list[bytes]:
    """The bulk strings of a value, those of its lists included."""
    found: list[bytes] = []
    at = 0
    while at < len(raw):
        line = raw.index(b"\r\n", at)
        head, at = raw[at:line], line + 2
        if head.startswith(b"$") and (length := int(head[1:])) >= 0:
            found.append(raw[at : at + length])
            at += length + 2
    return found


def _name(words: tuple[bytes, ...]) -> str:
    command = words[0].decode().upper()
    if command == "EVALSHA":
        script = next((each.name for each in product().values() if each.sha.encode() == words[1]), "unknown script")
        return "settle" if script == "pull" and words[7] != NO_SETTLEMENTS else script
    if command == "BLPOP" and not any(b"}:bell:" in word for word in words):
        return "BLPOP control"
    return command
