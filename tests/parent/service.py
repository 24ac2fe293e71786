"""A parent under test as a real process: its log is what tests wait for, its end is the end of all that hold the log.

Every child inherits standard error, so the end of that stream means that no process is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskScale, AskStatus, Scaled, SupervisorStatus
from tests.forked import popen

PATIENCE = 20.0

Line = dict[str, Any]


class Service:
    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        environment = {**os.environ, **options.pop("environment", {})}
        self.process = popen(
            "tests.parent.driver",
            [json.dumps({"dir": str(folder), **options})],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        assert self.process.stderr is not None
        self._stream = self.process.stderr
        self._torn = b""
        self._half = b""
        self._unread: list[Line] = []
        self.log: list[Line] = []

    @property
    def pid(self) -> int:
        return self.process.pid

    def until(self, event: str, **fields: object) -> Line:
        """The next line of the log that says this; lines before it are passed over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            while self._unread:
                line = self._unread.pop(0)
                if line.get("event") == event and fields.items() <= line.items():
                    return line
            assert self._read(deadline), f"never said: {event} {fields}\n{self.log_text()}"

    def ever(self, event: str, **fields: object) -> Line:
        """A line that says this, wherever in the log: for what may come before or after what was waited for."""
        for line in self.log:
            if line.get("event") == event and fields.items() <= line.items():
                return line
        return self.until(event, **fields)

    def started(self, workers: int = 2) -> Service:
        """Once the steward and this many workers are ready."""
        for _ in range(workers + 1):
            self.until("ready")
        return self

    def ended(self) -> int:
        """The exit status, once the parent and whoever came from it are gone."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return self.process.wait(PATIENCE)

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def stopped(self) -> int:
        self.send(signal.SIGTERM)
        return self.ended()

    def status(self) -> SupervisorStatus:
        return ask(self.folder, AskStatus())

    def scale(self, workers: int) -> Scaled:
        return ask(self.folder, AskScale(workers))

    def pid_of(self, slot: str) -> int:
        """The child that was last ready in this slot."""
        return int(
            next(line["pid"] for line in reversed(self.log) if line.get("event") == "ready" and line["slot"] == slot)
        )

    def kill(self, slot: str, number: int = signal.SIGKILL) -> int:
        pid = self.pid_of(slot)
        os.kill(pid, number)
        return pid

    def lines(self, event: str) -> list[Line]:
        return [line for line in self.log if line.get("event") == event]

    def log_text(self) -> str:
        return "\n".join(json.dumps(line) for line in self.log)

    def steward_messages(self) -> list[str]:
        """`<steward's pid> <first> <message>`."""
        path = self.folder / "messages"
        return path.read_text().splitlines() if path.exists() else []

    def close(self) -> None:
        if self.process.poll() is None:  # a failed test: the parent clears up what it has started, if it still can
            self.process.send_signal(signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
            self.process.kill()
        self.process.wait(PATIENCE)
        self._stream.close()

    def _read(self, deadline: float) -> bool:
        """True if there was something; False at the end of the stream. Fails when nothing comes in time."""
        readable, _, _ = select.select([self._stream], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"nothing more was said\n{self.log_text()}"
        chunk = os.read(self._stream.fileno(), 65536)
        *lines, self._torn = (self._torn + chunk).split(b"\n")
        parsed = [self._parse(line) for line in lines]
        self.log += parsed
        self._unread += parsed
        return bool(chunk)

    def _parse(self, line: bytes) -> Line:
        """A dump of stacks is written in pieces, so a log line may come amid one: what it tore is mended."""
        start = max(0, line.find(b'{"'))
        logged = _logged(line[start:])
        if logged is None:
            whole, self._half = self._half + line, b""
            return {"event": "raw", "text": whole.decode(errors="replace")}
        self._half += line[:start]
        return logged


def _logged(text: bytes) -> Line | None:
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def wait_dead(*pids: int) -> None:
    """Wait for the end of processes that are not our children; one that is gone already is fine."""
    for pid in pids:
        assert not is_alive(pid, PATIENCE), f"{pid} lives"


def is_alive(pid: int, patience: float = 0.0) -> bool:
    """True if a process still runs after `patience` seconds; told as soon as it does not."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    readable, _, _ = select.select([pidfd], [], [], patience)
    os.close(pidfd)
    return not readable
