"""Real worker processes, with the test in the place of the parent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from holdfast.ipc.channel import Drain, FromChild, FromParent, Ready, decode_from_child, encode
from tests.forked import Program, popen

PATIENCE = 30.0  # seconds; reached only by a test that fails

Message = TypeVar("Message", bound=FromChild)


@dataclass(slots=True)
class WorkerProcess:
    process: Program
    channel: socket.socket
    incarnation: str
    _torn: bytes = b""
    seen: list[FromChild] = field(default_factory=list[FromChild])

    @property
    def pid(self) -> int:
        return self.process.pid

    def expect(self, kind: type[Message]) -> Message:
        """The next message of this kind; others are kept in `seen`."""
        while True:
            message = self._next()
            self.seen.append(message)
            if isinstance(message, kind):
                return message

    def send(self, message: FromParent) -> None:
        self.channel.sendall(encode(message))

    def drain(self, seconds: float = PATIENCE, cancel_after: float = PATIENCE) -> None:
        now = time.monotonic()
        self.send(Drain(now + cancel_after, now + seconds))

    def kill(self, signum: int = signal.SIGKILL) -> None:
        os.kill(self.pid, signum)

    def wait(self) -> int:
        return self.process.wait(PATIENCE)

    def _next(self) -> FromChild:
        while b"\n" not in self._torn:
            chunk = self.channel.recv(1 << 16)
            if not chunk:
                raise EOFError(f"the worker has gone; it said {self.seen}")
            self._torn += chunk
        line, self._torn = self._torn.split(b"\n", 1)
        return decode_from_child(line)


@contextmanager
def worker(
    handler: str, *, folder: Path, url: str, queue: str, **flags: object
) -> Generator[WorkerProcess, None, None]:
    """A worker that has said it is ready; killed at the end if it still lives."""
    with booting(f"tests.worker.telling:{handler}", folder=folder, url=url, queue=queue, **flags) as process:
        process.expect(Ready)
        yield process


@contextmanager
def booting(
    target: str, *, folder: Path, url: str, queue: str, **flags: object
) -> Generator[WorkerProcess, None, None]:
    """A worker that has just been started."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    incarnation = uuid4().hex
    given = {
        "handler": target,
        "redis_url": url,
        "queue_name": queue,
        "state_dir": str(folder / "state"),
        "runtime_dir": str(folder / "run"),
        **flags,
    }
    process = popen(
        "tests.worker.child",
        [str(theirs.fileno()), incarnation, json.dumps(given)],
        pass_fds=[theirs.fileno()],
        env={**os.environ, "TEST_SERVER_URL": url},
        stdin=subprocess.DEVNULL,
    )
    theirs.close()
    try:
        yield WorkerProcess(process, ours, incarnation)
    finally:
        process.kill()
        process.wait()
        ours.close()
