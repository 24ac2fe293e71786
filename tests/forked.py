"""Starts Python programs by forks of a process that has imported their packages: that takes most of a short one's time.

Each is a process with its own arguments, environment, folder and descriptors, as from a shell. What differs: its
parent is the server, which reaps it at once, and /proc tells the environment of the server. What is read at the start
of an interpreter, or by an import, gets an interpreter of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any, Literal

from holdfast_config import kill_spec
from tests.fork_server import LONGEST_REQUEST

ROOT = Path(__file__).parents[1]
SUPERVISOR = Path(sys.executable).with_name("supervisor")
COMMAND = "holdfastd.cli.main:main"  # what `supervisor` runs
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_")
KILL_POINTS = {kill_spec.VARIABLE: kill_spec.Point.FORK}  # any: a server of processes that are to die has them built in
TITLES = "-" * 400  # an argument of the server: processes write their titles over the arguments

Kind = Literal["commands", "services", "killed"]  # killed: services with kill points


class Process:
    """A started program, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, end: socket.socket, streams: Sequence[IO[Any] | None]) -> None:
        self.pid = int(end.recv(16))
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = streams
        self._end = end

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status; of a signal its negative number."""
        if self.returncode is None:
            if not select.select([self._end], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._end.recv(16))
            self._end.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, content: bytes, timeout: float) -> tuple[bytes, bytes]:
        """Standard output and standard error, once the process has ended. It is killed if that takes too long."""
        with ThreadPoolExecutor(3) as pool:
            pool.submit(_write, self.stdin, content)
            out, err = pool.submit(_read, self.stdout), pool.submit(_read, self.stderr)
            try:
                self.wait(timeout)
            finally:
                self.kill()
                self.wait()
        return out.result(), err.result()


Program = Process | subprocess.Popen[Any]


def popen(
    program: str,
    arguments: Sequence[str],
    *,
    kind: Kind = "services",
    fork: bool = True,
    cwd: Path = ROOT,
    env: Mapping[str, str],
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    pass_fds: Sequence[int] = (),
    text: bool = False,
) -> Program:
    """`program`: a module, or COMMAND. `fork`: False for a new interpreter in any case. The rest is as of
    `subprocess.Popen`."""
    if env.get(kill_spec.VARIABLE):
        fork, kind = fork and kind == "services", "killed"
    if not fork or _read_at_start(env) != _read_at_start(os.environ):
        words = [SUPERVISOR] if program == COMMAND else [sys.executable, "-m", program]
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        return subprocess.Popen([*words, *arguments], cwd=cwd, env=env, pass_fds=pass_fds, text=text, **streams)
    wanted = {"program": program, "argv": [program, *arguments], "path": str(cwd), "folder": str(cwd)}
    if program == COMMAND:
        wanted |= {"argv": [str(SUPERVISOR), *arguments], "path": str(SUPERVISOR.parent)}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ExitStack() as stack:
        stack.enter_context(theirs)
        ends = [_stream(stack, number, asked, text) for number, asked in enumerate((stdin, stdout, stderr))]
        wanted |= {"numbers": [0, 1, 2, *pass_fds], "environ": dict(env)}
        given = [theirs.fileno(), *(end for end, _ in ends), *pass_fds]
        socket.send_fds(_server(kind), [json.dumps(wanted).encode()], given)
    return Process(ours, [stream for _, stream in ends])


def _read_at_start(environ: Mapping[str, str]) -> dict[str, Collection[str]]:
    """The variables that an interpreter reads; the server adds paths, and has ROOT in any case."""
    read = (name for name in environ if name.startswith(READ_AT_START) and environ[name])  # empty is as if unset
    found: dict[str, Collection[str]] = {name: environ[name] for name in read}
    paths = {path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path}
    return found | {"PYTHONPATH": paths - {str(ROOT)}}


def _stream(stack: ExitStack, number: int, asked: int | None, text: bool) -> tuple[int, IO[Any] | None]:
    """The program's end of a standard stream, and ours of a pipe."""
    if asked == PIPE:
        reads, writes = os.pipe()
        theirs, ours, mode = (reads, writes, "w") if number == 0 else (writes, reads, "r")
        stack.callback(os.close, theirs)
        return theirs, os.fdopen(ours, mode if text else f"{mode}b")
    if asked == DEVNULL:
        asked = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, asked)
    return number if asked is None else asked, None


def _read(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    with stream:
        return stream.read()


def _write(stream: IO[bytes] | None, content: bytes) -> None:
    assert stream is not None
    with suppress(BrokenPipeError), stream:
        stream.write(content)


@cache
def _server(kind: Kind) -> socket.socket:
    """The socket of a server, which ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * LONGEST_REQUEST)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", kind, str(theirs.fileno()), TITLES],
            cwd=ROOT,
            env={**os.environ, **(KILL_POINTS if kind == "killed" else {})},
            stdin=DEVNULL,
            stdout=DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(_stop, ours, process)
    return ours


def _stop(server: socket.socket, process: subprocess.Popen[bytes]) -> None:
    server.close()
    process.wait()
