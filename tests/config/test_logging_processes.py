"""Several processes share standard error: a pipe, a terminal, or a reader that is gone."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from typing import Any


def _run(program: str, stderr: Any, **environ: str) -> subprocess.CompletedProcess[str]:
    source = "import os, sys, structlog\nfrom holdfast_config.logging import configure\n" + program
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    return subprocess.run(
        [sys.executable, "-c", source],
        stderr=stderr,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=plain | environ,
    )


def test_each_record_is_one_write_and_forked_processes_do_not_mix() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # keeps the borders of writes
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    program = """if True:
        configure("info", "json")
        children = [os.fork() for _ in range(2)]
        for n in range(5):
            structlog.get_logger("holdfast.test").info("x", text="y" * 20_000, n=n)
        if all(children):
            [os.waitpid(pid, 0) for pid in children]
            print(len(os.listdir("/proc/self/task")))
    """
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        ended = _run(program, theirs)
        theirs.close()
        packets = list(iter(lambda: ours.recv(1 << 16), b""))
    records = [json.loads(packet) for packet in packets]
    assert all(packet.endswith(b"\n") and packet.count(b"\n") == 1 for packet in packets)
    assert len({(record["pid"], record["n"]) for record in records}) == 4 * 5
    assert ended.stdout == "1\n"  # one thread


def test_a_reader_that_left_costs_the_log_not_the_process() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = _run("configure('info', 'json'); structlog.get_logger('x').info('x'); print('alive')", writer)
    os.close(writer)
    assert ended.stdout == "alive\n"


def _on_terminal(fmt: str, **environ: str) -> str:
    ours, theirs = os.openpty()
    _run(f"configure('info', {fmt!r}); structlog.get_logger('holdfast.x').info('hello', a=1)", theirs, **environ)
    os.set_blocking(ours, False)
    written = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    return written


def test_auto_is_coloured_columns_on_a_terminal_and_json_elsewhere() -> None:
    assert "\x1b[" in _on_terminal("auto", TERM="xterm")
    reader, writer = os.pipe()
    _run("configure('info', 'auto'); structlog.get_logger('x').info('hello')", writer)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert json.loads(pipe.read())["event"] == "hello"


def test_a_terminal_gets_no_colours_when_they_are_unwanted_and_json_when_asked() -> None:
    plain = _on_terminal("auto", TERM="xterm", NO_COLOR="1")
    assert re.search(r"\[info *\] hello +\[holdfast.x\] a=1 pid=\d+", plain)
    assert "\x1b" not in plain
    assert json.loads(_on_terminal("json", TERM="xterm"))["event"] == "hello"
