"""MetricsReader reads the metrics for an export: the metrics of this host, and the metrics of the queue if this steward
is the one that reports them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio
import structlog

from holdfast.errors import StoreError
from holdfast.store import Store
from holdfast.telemetry import metric_table as table
from holdfast.telemetry.metric_table import BoundedNames, Readings
from holdfast.version import installed
from holdfastd.control.client import status_or_none
from holdfastd.control.socket_protocol import ProcessStatus, SupervisorStatus
from holdfastd.core.death import EXPECTED, Reason
from holdfastd.core.slots import CLAIMING, ChildKind
from holdfastd.steward.metrics.queue_report import QueueReport, Reporter

# The source of the metrics of this host's processes: a pool (through its supervisor's control socket), or one process.

ANSWER_TIMEOUT = 2.0  # seconds: the parent answers at once unless a signal has stopped it

_UNEXPECTED = [reason for reason in Reason if reason not in EXPECTED]


class MeteredHost(Protocol):
    async def read(self) -> Readings: ...

    async def obstacle(self) -> str:
        """The reason why no task can run on this host; empty if tasks can run."""
        ...


class PoolHost:
    """A supervisor and its processes. `runtime_dir`: its runtime folder."""

    def __init__(self, runtime_dir: Path) -> None:
        self._runtime_dir = runtime_dir
        self._processes = BoundedNames()

    async def read(self) -> Readings:
        """The values of the metrics of the pool (readings). If the supervisor does not answer, the values of its
        processes are missing."""
        readings, status = Readings(), await self._status()
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
    """This process, which has no supervisor. `name`: the process's name in the metrics."""

    def __init__(self, name: str) -> None:
        import psutil  # only needed here: in a pool the parent measures the processes

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
    for reason in _UNEXPECTED:  # set to 0 from the start, so that Prometheus sees the first death as an increase
        readings.set(table.DEATHS, 0, str(ChildKind.WORKER), str(reason))
    for kind, causes in status.deaths.by_cause.items():
        for cause, number in causes.items():
            readings.set(table.DEATHS, number, kind, cause)


FRESH = 1.0  # seconds
STORE_TIMEOUT = 3.0  # seconds
LATE = f"the store does not answer within {STORE_TIMEOUT:g} s"

_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class MetricsReader:
    """Reads the metrics of this host and of the queue. `recovered`: how many tasks this steward put back, by the cause
    of their worker's death. `clock`: monotonic seconds."""

    store: Store
    host: MeteredHost
    reporter: Reporter
    report: QueueReport
    recovered: Mapping[str, int]
    clock: Callable[[], float] = time.monotonic
    _trouble: str = ""
    _reading: anyio.Lock = field(default_factory=anyio.Lock)
    _read_at: float = float("-inf")
    _readings: Readings = field(default_factory=Readings)

    async def read(self, fresh: float = FRESH) -> Readings:
        """Read the metrics. Concurrent calls share one reading. `fresh`: a reading is reused for this many seconds."""
        async with self._reading:
            if self.clock() - self._read_at >= fresh:
                self._readings = await self._read()
                self._read_at = self.clock()
            return self._readings

    async def _read(self) -> Readings:
        readings = await self.host.read()
        for cause, number in self.recovered.items():
            readings.set(table.HOST_RECOVERED, number, cause)
        queue, trouble = None, ""
        try:
            with anyio.fail_after(STORE_TIMEOUT):
                queue = await self._read_queue()
        except (StoreError, TimeoutError) as error:
            trouble = str(error) or LATE
        if trouble and trouble != self._trouble:
            _log.warning("metrics of the queue cannot be read", reason=trouble)
        self._trouble = trouble
        readings.set(table.STORE_UP, not trouble)
        readings.set(table.REPORTER, queue is not None)
        readings.update(queue or Readings())
        return readings

    async def _read_queue(self) -> Readings | None:
        """Read the metrics of the queue; None if another steward reports them."""
        if await self.reporter.ask():
            return await self.report.read()
        self.report.forget()
        await self.store.ping()
        return None
