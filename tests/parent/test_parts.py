"""The parent's smaller parts, each by itself on the real thing."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from holdfastd.control.listening_socket import LineSocket
from holdfastd.parent.children import OomKills
from holdfastd.parent.status import Stats


@pytest.fixture
def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair()


def test_lines_come_whole_however_they_were_cut(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    lines = LineSocket(ours, 100, 100)
    theirs.sendall(b"one\ntw")
    assert lines.receive() == [b"one"]
    theirs.sendall(b"o\nthree\n")
    assert lines.receive() == [b"two", b"three"]
    assert lines.receive() == []
    theirs.close()
    assert lines.receive() == []
    assert lines.ended
    ours.close()


def test_a_line_that_is_too_long_is_dropped_and_said(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    lines = LineSocket(ours, 10, 100)
    theirs.sendall(b"x" * 11)
    assert lines.receive() == []
    assert lines.overrun
    ours.close()
    theirs.close()


def test_a_peer_that_does_not_read_costs_no_more_than_the_bound(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    lines = LineSocket(ours, 10, 100_000)
    sent = 0
    while lines.send(b"x" * 999 + b"\n"):
        sent += 1000
    assert lines.is_pending
    received = b""
    while lines.is_pending:
        received += theirs.recv(65536)
        lines.flush()
    while len(received) < sent:
        received += theirs.recv(65536)
    assert received.count(b"\n") == sent // 1000
    ours.close()
    theirs.close()


def test_sending_to_nobody_is_no_error(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.close()
    lines = LineSocket(ours, 10, 100)
    assert lines.send(b"x\n")
    assert not lines.is_pending
    ours.close()


def test_each_kill_for_memory_is_seen_once(tmp_path: Path) -> None:
    counter = tmp_path / "memory.events"
    counter.write_text("oom 5\noom_kill 1\n")
    memory = OomKills(counter)
    assert not memory.has_new()
    counter.write_text("oom 5\noom_kill 2\n")
    assert [memory.has_new(), memory.has_new()] == [True, False]
    counter.unlink()
    assert not memory.has_new()


def test_the_kernel_of_this_host_has_a_counter() -> None:
    assert not OomKills().has_new()


def test_a_process_that_cannot_be_measured_has_no_numbers() -> None:
    usage = Stats().measure({os.getpid(), 2**22 + 1})
    assert set(usage) == {os.getpid()}
    assert usage[os.getpid()].memory_bytes > 1_000_000
