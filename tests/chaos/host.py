"""One of the hosts of the play: a supervisor that is started, struck and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import (
    AskReload,
    AskScale,
    AskStatus,
    ControlError,
    ProcessStatus,
    SupervisorStatus,
)
from tests.chaos.begun import BEGUN
from tests.chaos.handler import FAULTS, HOST, RUNS
from tests.faults.proxy import Proxy
from tests.forked import Program, popen

GRACE = 60.0  # seconds; reached only by a play that fails


@dataclass(frozen=True, slots=True)
class Histories:
    """The files of a play: starts and ends of handlers, what workers began, what clients did, and the faults."""

    runs: Path
    begun: Path
    clients: Path
    faults: Path

    @staticmethod
    def within(folder: Path) -> Histories:
        return Histories(*(folder / name for name in ("runs", "begun", "clients", "faults")))


class Host:
    """`histories`: where its handlers and workers write, and its faults; `proxy`: by which it reaches the store; the
    other flags are settings, too. The log of all its lives is one file."""

    def __init__(
        self, folder: Path, histories: Histories, proxy: Proxy, lanes: Sequence[str], workers: int, **flags: object
    ) -> None:
        folder.mkdir()
        self.name, self.lanes, self.workers = folder.name, lanes, workers
        self.proxy = proxy
        self.runtime_dir = folder / "run"
        self.log = folder / "log"
        folders = {"state_dir": str(folder / "state"), "runtime_dir": str(self.runtime_dir)}
        self._flags = {**folders, "lanes": ",".join(lanes), "workers": workers, **flags}
        written = {RUNS: str(histories.runs), BEGUN: str(histories.begun), FAULTS: str(histories.faults)}
        self._environment = {**os.environ, **written, HOST: self.name}
        self.process: Program | None = None

    def start(self, **changed: object) -> None:
        """Once more, as it was or from now on with these settings."""
        self._flags |= changed
        with self.log.open("ab") as log:
            streams = {"stdin": subprocess.DEVNULL, "stderr": log.fileno()}
            self.process = popen("tests.chaos.pool", [json.dumps(self._flags)], env=self._environment, **streams)

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def status(self) -> SupervisorStatus | None:
        """None where nobody answers now."""
        try:
            return ask(self.runtime_dir, AskStatus(), timeout=2.0)
        except (ControlError, OSError):
            return None

    def until_ready(self) -> bool:
        """True if it runs; waits until it answers: one that has only just begun ends by the first signal."""
        while self.runs and self.status() is None:
            time.sleep(0.05)
        return self.runs

    def children(self, kind: str) -> list[ProcessStatus]:
        status = self.status()
        return [process for process in status.processes if process.kind == kind] if status else []

    def scale(self, workers: int) -> None:
        with suppress(ControlError, OSError):
            ask(self.runtime_dir, AskScale(workers), timeout=2.0)

    def reload(self) -> None:
        with suppress(ControlError, OSError):
            ask(self.runtime_dir, AskReload(), timeout=2.0)

    def send(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def ended(self) -> int:
        """The exit status, once it is gone."""
        assert self.process is not None
        return self.process.wait(GRACE)

    def last_words(self) -> str:
        """The last lines of its log that warn of something."""
        lines = [line for line in self.log.read_text().splitlines() if '"level": "info"' not in line]
        return " / ".join(lines[-3:])

    def stop(self) -> int:
        self.send(signal.SIGTERM)
        return self.ended()

    def close(self) -> None:
        """Leave no parent behind, whatever has happened; its children end with it."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()


def strike(pid: int, number: int) -> None:
    """It may be gone already."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
