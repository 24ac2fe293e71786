"""Runs the supervisor of the demonstration: `supervisor start` in temporary folders."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from holdfast_config import Settings, load
from holdfast_config.errors import ConfigError
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskStatus, ControlError, ProcessStatus
from holdfastd.parent import prctl

# Errors of the demonstration.


class DemoError(Exception):
    """The demonstration cannot run. `status`: the exit status of its supervisor; None if it has not ended."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


HANDLER = "holdfastd.demo.tally:handle"
READY_WITHIN = 60.0  # seconds
ENDS_WITHIN = 60.0
LOOK_EVERY = 0.02
LOG_TAIL = 2000  # characters from the end of the supervisor's log, shown in an error


@dataclass(frozen=True, slots=True)
class SupervisorProcess:
    """The supervisor of the demonstration. `settings`: the settings with which the supervisor runs."""

    process: subprocess.Popen[bytes]
    settings: Settings
    log: Path

    def processes(self, kind: str) -> list[ProcessStatus]:
        """The supervisor's children of this kind; none while it does not answer."""
        try:
            status = ask(self.settings.runtime_dir, AskStatus())
        except ControlError:
            return []
        return [process for process in status.processes if process.kind == kind]


@contextmanager
def running(workers: int, concurrency: int) -> Generator[SupervisorProcess]:
    """A context manager with a supervisor whose workers are all ready. At the end it ends the supervisor and removes
    its folders. Raises DemoError if the supervisor cannot start."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        service = _start(folder, workers, concurrency)
        try:
            _until_ready(service, workers)
            yield service
        finally:
            _end(service.process)


def _start(folder: Path, workers: int, concurrency: int) -> SupervisorProcess:
    flags = {
        "runtime_dir": str(folder / "run"),
        "state_dir": str(folder / "state"),
        "config": os.devnull,
        "env_file": os.devnull,
        "handler": HANDLER,
        "workers": str(workers),
        "concurrency": str(concurrency),
        "log_level": "warning",
        "log_format": "json",
    }
    typed = [
        word for flag, value in flags.items() if flag != "handler" for word in (f"--{flag.replace('_', '-')}", value)
    ]
    log = folder / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", "from holdfastd.cli.main import main; main()", "start", HANDLER, *typed],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=folder,
            env=_environment(),
            start_new_session=True,  # Ctrl-C reaches only the demonstration, which then ends the service
            preexec_fn=partial(prctl.die_with_parent, signal.SIGTERM),
        )
    try:
        return SupervisorProcess(process, load(flags, environ={}, folder=folder), log)
    except ConfigError:
        process.kill()
        raise


def _environment() -> dict[str, str]:
    """This process's environment, without variables that would change the supervisor's settings."""
    ours = ("HOLDFAST_", "REDIS_", "SCHEDULER", "STORAGE", "NOTIFY_", "WATCHDOG_", "OTEL_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _until_ready(service: SupervisorProcess, workers: int) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while sum(process.state == "ready" for process in service.processes("worker")) < workers:
        code = service.process.poll()
        if code is not None or time.monotonic() > deadline:
            log = service.log.read_text("utf-8", "replace")[-LOG_TAIL:].strip()
            raise DemoError(f"the demonstration's supervisor did not start: {log or 'its log is empty'}", code)
        time.sleep(LOOK_EVERY)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN if number == signal.SIGTERM else 10.0)
            return


# Killer kills random busy workers, and now and then the steward.

GROWN_UP = 1.5  # seconds that a worker must have lived: an earlier death would count towards a crash loop


@dataclass(slots=True)
class Killer:
    """Kills processes of the supervisor. `killed`: the killed workers' incarnations with the time (Unix seconds).
    `stewards`: how many stewards were killed."""

    service: SupervisorProcess
    chance: random.Random
    killed: dict[str, float] = field(default_factory=dict[str, float])
    stewards: int = 0

    def kill_worker(self, busy: Collection[str]) -> ProcessStatus | None:
        """Kill one of the busy incarnations that has lived long enough; None if there is none."""
        grown = [
            worker
            for worker in self.service.processes("worker")
            if worker.state == "ready" and worker.uptime > GROWN_UP
        ]
        victims = [worker for worker in grown if worker.incarnation in busy] or grown
        if not victims:
            return None
        victim = self.chance.choice(victims)
        self.killed[victim.incarnation] = time.time()
        _kill(victim)
        return victim

    def kill_steward(self) -> ProcessStatus | None:
        for steward in self.service.processes("steward"):
            self.stewards += 1
            _kill(steward)
            return steward
        return None


def _kill(process: ProcessStatus) -> None:
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
