"""The host whose processes are measured: a pool, through its supervisor's control socket, or one process alone."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Protocol

from holdfast.telemetry import metric_table as table
from holdfast.telemetry.readings import BoundedNames, Readings
from holdfast.version import installed
from holdfastd.control.async_client import status_or_none
from holdfastd.control.socket_protocol import ProcessStatus, SupervisorStatus
from holdfastd.core.death import EXPECTED, Reason
from holdfastd.core.slots import CLAIMING, ChildKind

ANSWER_TIMEOUT = 2.0  # seconds: the parent answers at once unless it is stopped

_UNEXPECTED = [reason for reason in Reason if reason not in EXPECTED]


class Host(Protocol):
    async def read(self) -> Readings: ...

    async def obstacle(self) -> str:
        """Why no task can run here, or empty."""
        ...


class PoolHost:
    """A supervisor and its processes. `runtime_dir`: its runtime folder."""

    def __init__(self, runtime_dir: Path) -> None:
        self._runtime_dir = runtime_dir
        self._processes = BoundedNames()

    async def read(self) -> Readings:
        """Without an answer of the supervisor there are no readings of it."""
        status = await self._status()
        readings = Readings()
        readings.set(table.SUPERVISOR_INFO, 1, status.version if status else installed())
        if status is not None:
            _set_service(readings, status)
            for process in status.processes:
                self._set_process(readings, process)
        return readings

    async def obstacle(self) -> str:
        status = await self._status()
        if status is None:
            return "the supervisor does not answer"
        if status.state != "running":
            return f"the supervisor is {status.state}"
        if not status.ready:
            return status.breaker or "no worker is ready"
        return ""

    async def _status(self) -> SupervisorStatus | None:
        return await status_or_none(self._runtime_dir, ANSWER_TIMEOUT)

    def _set_process(self, readings: Readings, process: ProcessStatus) -> None:
        is_numbered = process.kind in CLAIMING
        name = self._processes.name(f"{process.kind}-{process.slot}" if is_numbered else process.kind)
        readings.set(table.PROCESSES, 1, process.kind, process.state)
        readings.set(table.PROCESS_RESTARTS, process.restarts, name)
        readings.set(table.PROCESS_UPTIME, process.uptime, name)
        if process.memory_bytes is not None:
            readings.set(table.PROCESS_MEMORY, process.memory_bytes, name)
        if process.cpu_seconds is not None:
            readings.set(table.PROCESS_CPU, process.cpu_seconds, name)


class ProcessHost:
    """This process, which has no supervisor. `name`: that of the process in the metrics."""

    def __init__(self, name: str) -> None:
        import psutil  # a pool measures its processes in its parent

        self._name = name
        self._process = psutil.Process(os.getpid())

    async def read(self) -> Readings:
        readings, used = Readings(), self._process.cpu_times()
        readings.set(table.SUPERVISOR_INFO, 1, installed())
        readings.set(table.PROCESSES, 1, self._name, "ready")
        readings.set(table.PROCESS_MEMORY, self._process.memory_info().rss, self._name)
        readings.set(table.PROCESS_CPU, used.user + used.system, self._name)
        readings.set(table.PROCESS_UPTIME, max(0.0, time.time() - self._process.create_time()), self._name)
        return readings

    async def obstacle(self) -> str:
        return ""


def _set_service(readings: Readings, status: SupervisorStatus) -> None:
    workers = [process for process in status.processes if process.kind in CLAIMING]
    readings.set(table.DEGRADED, bool(status.degraded))
    readings.set(table.BREAKER_OPEN, bool(status.breaker))
    readings.set(table.WORKERS_WANTED, status.target)
    readings.set(table.WORKERS_READY, status.ready)
    readings.set(table.WORKERS_BUSY, sum(bool(worker.running) for worker in workers))
    readings.set(table.HOST_TASKS, sum(len(worker.running) for worker in workers))
    for reason in _UNEXPECTED:  # there from the start: so a first death is growth
        readings.set(table.DEATHS, 0, str(ChildKind.WORKER), str(reason))
    for kind, causes in status.deaths.by_cause.items():
        for cause, number in causes.items():
            readings.set(table.DEATHS, number, kind, cause)
