"""Standard error that nobody reads: a pipe, one of another user, a socket, a terminal that was stopped."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import termios
from contextlib import suppress
from typing import Any

import pytest

from holdfast_config.logging import DROPPED

NOBODY = 65_534
KINDS = ("pipe", "pipe of another user", "socket", "terminal")
FULL = """if True:
    import socket
    from holdfast_config import logging as ours
    from holdfast_config.standard_error import STREAM
    ours.configure("error", "json")

    def log(event, **fields):
        ours.JsonLines().msg(json.dumps({{"event": event, **fields}}))

    socket.setdefaulttimeout(5)  # a handler's program may have one
    if {away}:
        os.setgroups([]) if os.geteuid() == 0 else None
        os.setuid({nobody}) if os.geteuid() == 0 else None
    before = os.get_blocking(2)
    count = 0
    while not STREAM.dropped and count < 100_000:
        log("x", n=(count := count + 1), text="y" * {size})
    dropped_first = STREAM.dropped
    log("no room either", text="y" * {size} * 2)
    print(json.dumps([count, dropped_first, STREAM.dropped, before, os.get_blocking(2)]), flush=True)
    sys.stdin.readline()
    log("read again")
    ours.tell_left_out()
"""


def _program(source: str) -> list[str]:
    return [sys.executable, "-c", "import json, os, sys, structlog\n" + source]


def _unread(kind: str) -> tuple[int, int]:
    """Two descriptors: the end of the test, which reads nothing, and the end to which the program writes."""
    if kind == "socket":
        ours, theirs = (end.detach() for end in socket.socketpair())
    elif kind == "terminal":
        ours, theirs = os.openpty()
        termios.tcflow(theirs, termios.TCOOFF)
    else:
        ours, theirs = os.pipe()
        if kind == "pipe of another user":
            os.fchmod(theirs, 0)
    return ours, theirs


def _read(descriptor: int) -> bytes:
    parts: list[bytes] = []
    with suppress(OSError):  # EIO: the terminal was closed
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("size", [100, 10_000])
@pytest.mark.parametrize("kind", KINDS)
def test_lines_without_room_are_dropped_and_counted(kind: str, size: int) -> None:
    source = FULL.format(away=kind == "pipe of another user", nobody=NOBODY, size=size)
    ours, theirs = _unread(kind)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(_program(source), stderr=theirs, text=True, **pipes) as process:
        assert process.stdout is not None
        count, first, then, before, after = json.loads(process.stdout.readline())
        if kind == "terminal":
            termios.tcflow(theirs, termios.TCOON)
        os.close(theirs)
        lines = _lines(ours, process)
    os.close(ours)
    assert process.returncode == 0
    assert (first, then, before, after) == (1, 2, True, True)  # the flag that others share is as it was
    numbers = [line["n"] for line in lines if line["event"] == "x"]
    assert numbers == list(range(1, count))
    assert [line["count"] for line in lines if line["event"] == DROPPED] == [2]
    assert lines[-1]["event"] == "read again"


def _lines(descriptor: int, process: Any) -> list[Any]:
    """Everything that stands there, then what is written after that."""
    os.set_blocking(descriptor, False)
    seen = b""
    with suppress(BlockingIOError):
        while True:
            seen += os.read(descriptor, 1 << 16)
    os.set_blocking(descriptor, True)
    process.stdin.write("\n")
    process.stdin.flush()
    return [json.loads(line) for line in (seen + _read(descriptor)).decode().splitlines()]


def test_a_forked_process_tells_of_its_own_lines_only() -> None:
    source = FULL.partition("    print(")[0].format(away=False, nobody=NOBODY, size=100)
    reading, writing = os.pipe()
    child = "    print(STREAM.dropped if os.fork() == 0 else '', flush=True)\n"
    ended = subprocess.run(_program(source + child), stderr=writing, stdout=subprocess.PIPE, text=True, check=True)
    os.close(reading)
    os.close(writing)
    assert ended.stdout.split() == ["0"]


def test_a_log_that_is_redirected_meanwhile_is_followed() -> None:
    source = """if True:
        from holdfast_config.logging import configure
        configure("info", "json")
        structlog.get_logger("x").info("one")
        os.dup2(1, 2)
        structlog.get_logger("x").info("two")
    """
    ended = subprocess.run(_program(source), capture_output=True, text=True, check=True)
    assert json.loads(ended.stderr)["event"] == "one"
    assert json.loads(ended.stdout)["event"] == "two"


def test_a_line_that_is_longer_than_the_pipe_arrives_whole() -> None:
    source = """if True:
        from holdfast_config import logging as ours
        ours.configure("info", "json")
        structlog.get_logger("x").info("long", text="y" * 3_000_000)
        while ours.STREAM._rest:
            ours.tell_left_out()
        structlog.get_logger("x").info("end")
    """
    ended = subprocess.run(_program(source), stderr=subprocess.PIPE, text=True, check=True)
    long, end = (json.loads(line) for line in ended.stderr.splitlines())
    assert (len(long["text"]), end["event"]) == (3_000_000, "end")
