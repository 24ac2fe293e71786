"""The child's end of the channel, over a real socketpair."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from holdfast.ipc.channel import (
    Acknowledged,
    Beat,
    Born,
    Died,
    Drain,
    FromChild,
    Leave,
    Ready,
    decode_from_child,
    encode,
)
from holdfast.ipc.child_end import LONGEST_OUTBOX, ParentLink

pytestmark = pytest.mark.anyio


@pytest.fixture
def ends() -> Iterator[tuple[ParentLink, socket.socket]]:
    ours, theirs = socket.socketpair()
    link = ParentLink(ours)
    with theirs:
        yield link, theirs
    link.close()


def read_lines(parent: socket.socket, count: int) -> list[FromChild]:
    with parent.makefile("rb") as lines:
        return [decode_from_child(lines.readline()) for _ in range(count)]


def read_to_the_end(parent: socket.socket, received: list[FromChild]) -> None:
    with parent.makefile("rb") as lines:
        received.extend(map(decode_from_child, lines))


async def test_messages_of_the_parent_arrive_in_order(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    told = [Born("a"), Died("a", "signal 9", charged=True), Drain(1.5, 2.5), Leave(3.0)]
    parent.sendall(b"".join(map(encode, told)))
    assert [await link.receive() for _ in told] == told


async def test_a_message_torn_at_every_byte_is_read_once_it_is_whole(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    got: list[object] = []

    async def read() -> None:
        got.append(await link.receive())

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        for byte in encode(Died("ab", "exit 3", charged=True)):
            await anyio.lowlevel.checkpoint()
            assert got == []
            parent.sendall(bytes([byte]))
    assert got == [Died("ab", "exit 3", charged=True)]


async def test_the_end_of_the_parent_is_told_again_and_again(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    parent.sendall(encode(Born("a")) + b'{"type":"bo')
    parent.close()
    assert await link.receive() == Born("a")
    assert await link.receive() is None
    assert await link.receive() is None


async def test_a_parent_that_left_messages_unread_reads_as_the_end(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    link.send(Ready())
    parent.close()  # with unread bytes in it: the kernel resets instead of ending
    assert await link.receive() is None


async def test_what_is_no_message_is_skipped(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    parent.sendall(b'not json\n{"type":"unheard-of"}\n\n' + encode(Born("b")))
    assert await link.receive() == Born("b")


async def test_sent_messages_reach_the_parent(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    told = [Ready(), Beat(["t1"], 3, ""), Acknowledged("a", 2)]
    for message in told:
        link.send(message)
    assert read_lines(parent, 3) == told


async def test_sending_to_a_parent_that_does_not_read_neither_blocks_nor_grows(
    ends: tuple[ParentLink, socket.socket],
) -> None:
    link, parent = ends
    beat = Beat(["x" * 100] * 100, 1, "")
    sent = 4 * LONGEST_OUTBOX // len(encode(beat))
    for _ in range(sent):
        link.send(beat)
    received: list[FromChild] = []
    async with anyio.create_task_group() as group:
        group.start_soon(to_thread.run_sync, read_to_the_end, parent, received)
        await link.flush(10.0)
        link.send(Ready())
        link.close()
    assert received == [beat] * (len(received) - 1) + [Ready()]
    assert LONGEST_OUTBOX // len(encode(beat)) <= len(received) < sent


async def test_sending_to_a_parent_that_is_gone_does_nothing(ends: tuple[ParentLink, socket.socket]) -> None:
    link, parent = ends
    parent.close()
    link.send(Ready())
    link.send(Ready())
    await link.flush(10.0)
    assert await link.receive() is None


async def test_flushing_gives_up_in_time(ends: tuple[ParentLink, socket.socket]) -> None:
    link, _parent = ends
    beat = Beat(["x" * 100] * 100, 1, "")
    for _ in range(2 * LONGEST_OUTBOX // len(encode(beat))):
        link.send(beat)
    with anyio.fail_after(30):
        await link.flush(0.01)
