"""Records of the parent on their way to the steward."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Iterator

import pytest

from holdfast.ipc.channel import Logged, decode_from_parent
from holdfastd.core.slots import STEWARD
from holdfastd.parent.children import Children
from holdfastd.parent.fork import ForkedChild
from holdfastd.parent.parent import LONGEST_TEXT, MOST_WAITING, LogRelay


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The parent's end and the steward's."""
    parent, steward = socket.socketpair()
    with parent, steward:
        yield parent, steward


def relay_to(parent: socket.socket) -> LogRelay:
    children = Children()
    children.adopt(STEWARD, "i", ForkedChild(os.getpid(), None, parent))
    return LogRelay(children)


def received(steward: socket.socket) -> list[dict[str, object]]:
    """The records that can be read now."""
    steward.setblocking(False)
    text = b""
    try:
        while part := steward.recv(1 << 20):
            text += part
    except BlockingIOError:
        pass
    messages = [decode_from_parent(line) for line in text.split(b"\n") if line]
    return [dict(message.record) for message in messages if isinstance(message, Logged)]


def test_values_of_any_kind_arrive(ends: tuple[socket.socket, socket.socket]) -> None:
    relay = relay_to(ends[0])
    relay.take({"event": "died", "pid": 7, "late": True, "lived": 0.5, "\ud800": "a\udfffb", "none": None})
    relay.take({"nan": math.nan, "far": 1 << 70, "deep": {"a": ["b"]}, "long": "x" * 100_000})
    relay.pass_on()
    first, second = received(ends[1])
    assert first == {
        "event": "died",
        "pid": 7,
        "late": True,
        "lived": 0.5,
        "\\ud800": "a\\udfffb",
        "none": "None",
    }
    assert second == {"nan": "nan", "far": str(1 << 70), "deep": "{'a': ['b']}", "long": "x" * LONGEST_TEXT}


def test_without_a_steward_the_newest_wait() -> None:
    children = Children()
    relay = LogRelay(children)
    for number in range(MOST_WAITING + 10):
        relay.take({"number": number})
    relay.pass_on()
    parent, steward = socket.socketpair()
    with parent, steward:
        children.adopt(STEWARD, "i", ForkedChild(os.getpid(), None, parent))
        relay.pass_on()
        assert [each["number"] for each in received(steward)] == list(range(10, MOST_WAITING + 10))


def test_a_steward_that_does_not_read_holds_up_nothing(ends: tuple[socket.socket, socket.socket]) -> None:
    """Lines that it has not read wait here, and no more than that; nothing of the channel is dropped for it."""
    parent, steward = ends
    children = Children()
    process = children.adopt(STEWARD, "i", ForkedChild(os.getpid(), None, parent))
    relay = LogRelay(children)
    for number in range(10_000):
        relay.take({"number": number, "text": "x" * 1000})
        relay.pass_on()
    assert process.lines.is_pending
    assert process.lines.send(b"order\n")
    assert received(steward)
