"""The pool under measurement: `supervisor start` as a user types it, in folders of its own, ended with the block."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.waiting import until
from holdfastd.control import client
from holdfastd.control.socket_protocol import AskStatus, ControlError, SupervisorStatus

ROOT = Path(__file__).parents[1]
SUPERVISOR = Path(sys.executable).with_name("supervisor")
READY_WITHIN = 30.0  # seconds
ENDS_WITHIN = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Pool:
    """`log` has the supervisor's JSON lines."""

    pid: int
    runtime_dir: Path
    log: Path

    @property
    def url(self) -> str:
        """The embedded store."""
        return f"unix://{self.runtime_dir / 'store.sock'}"

    def status(self) -> SupervisorStatus:
        return client.ask(self.runtime_dir, AskStatus())

    def is_ready(self) -> bool:
        try:
            status = self.status()
        except ControlError:
            return False
        return status.ready == status.target


@contextmanager
def folder() -> Generator[Path]:
    """For state and sockets: the name must be short."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        yield Path(name)


@contextmanager
def pool(handler: str, workers: int, place: Path, environ: dict[str, str], *flags: str) -> Generator[Pool]:
    """A pool with all its workers ready; its data and sockets are in `place`."""
    runtime_dir, log = place / "run", place / "log"
    folders = ["--app-dir", str(ROOT), "--runtime-dir", str(runtime_dir), "--state-dir", str(place / "state")]
    options = ["--workers", str(workers), "--log-format", "json", *folders, *flags]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [SUPERVISOR, "start", handler, *options], cwd=place, env=environ, stdin=subprocess.DEVNULL, stderr=out
        )
    running = Pool(process.pid, runtime_dir, log)
    try:
        _await(running, process)
        yield running
    finally:
        _end(process)


def _await(running: Pool, process: subprocess.Popen[bytes]) -> None:
    """Until all workers are ready; an error shows the log."""
    try:
        until(lambda: running.is_ready() or process.poll() is not None, READY_WITHIN, "the pool is ready", every=0.02)
    except TimeoutError as error:
        error.add_note(running.log.read_text())
        raise
    if process.returncode is not None:
        raise RuntimeError(f"the supervisor ended with {process.returncode}:\n{running.log.read_text()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()  # its children leave when it is gone
        process.wait()
        raise
