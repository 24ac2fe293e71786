"""A pool under test: its log, its control socket, what it tells systemd, its end.

Every process of a pool inherits its standard error, so the end of that stream means that none is left.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import psutil

from holdfast_config.kill_spec import VARIABLE
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskScale, AskStatus, Scaled, SupervisorStatus
from tests.faults.handlers import URL
from tests.faults.kin import marked, writing_to
from tests.forked import popen

PATIENCE = 40.0  # seconds; reached only by a test that fails
MARK = "FAULTS_POOL"

Line = dict[str, Any]


class Pool:
    """`flags` are settings; `url` is where handlers find the lists that they speak through. At the points `kill_at`
    a process dies when there is an order."""

    def __init__(self, folder: Path, url: str, kill_at: Sequence[str] = (), **flags: object) -> None:
        self.runtime_dir = folder / "run"
        self.orders = folder / "orders"
        self.orders.mkdir(exist_ok=True)
        self._mark = uuid4().hex
        heard_at = folder / f"notify-{self._mark[:8]}"
        self._notices = _datagrams(heard_at)
        given = {"state_dir": str(folder / "state"), "runtime_dir": str(self.runtime_dir), **flags}
        asked = ",".join(f"{point}@{self.orders / point.partition(':')[0]}" for point in kill_at)
        environment = {VARIABLE: asked, MARK: self._mark, URL: url, "NOTIFY_SOCKET": str(heard_at)}
        self.process = popen(
            "tests.faults.pool",
            [json.dumps(given)],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        assert self.process.stderr is not None
        self._pipe = f"pipe:[{os.fstat(self.process.stderr.fileno()).st_ino}]"
        self.log: list[Line] = []
        self._cursor = 0
        self._torn = b""
        self._is_over = False
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def order(self, point: str) -> None:
        """The first process that reaches this kill point from now on is to die."""
        (self.orders / point).touch()

    def until(self, event: str, **fields: object) -> Line:
        """The next line of the log that says this; lines before it are passed over."""

        def next_line() -> Line | None:
            while self._cursor < len(self.log):
                line = self.log[self._cursor]
                self._cursor += 1
                if line.get("event") == event and fields.items() <= line.items():
                    return line
            return None

        with self._grown:
            line = self._grown.wait_for(next_line, PATIENCE)
        assert line, f"never said: {event} {fields}\n{self.log_text()}"
        return line

    def wait_for(self, event: str, times: int = 1) -> Line:
        """The log's line that says this, that many times since its beginning: the last of them."""
        with self._grown:
            last = self._grown.wait_for(lambda: self.lines(event)[times - 1 : times], PATIENCE)
        assert last, f"never said: {event}\n{self.log_text()}"
        return last[0]

    def ready(self, workers: int) -> Pool:
        """Once this many workers are ready."""
        while sum(line["slot"].startswith("worker") for line in self.lines("ready")) < workers:
            self.until("ready")
        return self

    def lines(self, event: str, **fields: object) -> list[Line]:
        """Those that were written until now."""
        with self._grown:
            self._take()
            return [line for line in self.log if line.get("event") == event and fields.items() <= line.items()]

    def pid_of(self, slot: str) -> int:
        """The child that was last ready in this slot."""
        return int(self.lines("ready", slot=slot)[-1]["pid"])

    def send(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """The exit status of the parent, once it and whoever came from it are gone."""
        self._reader.join(PATIENCE)
        assert not self._reader.is_alive(), f"still there: {self.leftovers()}\n{self.log_text()}"
        return self.process.wait(PATIENCE)

    def stop(self) -> int:
        self.send()
        return self.ended()

    def status(self) -> SupervisorStatus:
        return ask(self.runtime_dir, AskStatus())

    def scale(self, workers: int) -> Scaled:
        return ask(self.runtime_dir, AskScale(workers))

    def until_status(self, holds: Callable[[str], bool]) -> str:
        """The next summary told to systemd of which this holds."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._notices.settimeout(max(0.0, deadline - time.monotonic()))
            text = self._notices.recv(65536).decode()
            for line in text.splitlines():
                if line.startswith("STATUS=") and holds(line.removeprefix("STATUS=")):
                    return line.removeprefix("STATUS=")

    def deaths(self) -> list[str]:
        """Of what its children died, those aside that were asked to leave."""
        return [f"{line['slot']}: {line['cause']}" for line in self.lines("died")]

    def leftovers(self) -> list[psutil.Process]:
        """Living processes that came from this pool: they have its standard error, or its environment."""
        return [*{*marked(MARK, self._mark), *writing_to(self._pipe)}]

    def log_text(self) -> str:
        with self._grown:
            self._take()
            return "\n".join(json.dumps(line) for line in self.log)

    def lose(self) -> None:
        """Kill every process of this pool, so that none sees another die."""
        pids = [process.pid for process in self.status().processes]
        self.send(signal.SIGSTOP)
        for pid in (*pids, self.pid):
            os.kill(pid, signal.SIGKILL)
        self.ended()
        self.close()

    def close(self) -> None:
        """Leave nothing behind, whatever has happened."""
        for each in self.leftovers():
            with suppress(psutil.Error):
                each.kill()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self._notices.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            while not self._is_over:
                select.select([stream], [], [])
                with self._grown:
                    self._take()
                    self._grown.notify_all()

    def _take(self) -> None:
        """Read all that is there by now; nobody else reads meanwhile."""
        assert self.process.stderr is not None
        while not self._is_over and select.select([self.process.stderr], [], [], 0)[0]:
            chunk = os.read(self.process.stderr.fileno(), 1 << 16)
            self._is_over = not chunk
            *lines, self._torn = (self._torn + (chunk or b"\n" * bool(self._torn))).split(b"\n")
            self.log += map(_parse, lines)


def _datagrams(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(path))
    return listener


def _parse(raw: bytes) -> Line:
    try:
        parsed = json.loads(raw)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return cast("Line", parsed)
    return {"event": "raw", "text": raw.decode(errors="replace").rstrip()}
