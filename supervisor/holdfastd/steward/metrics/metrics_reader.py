"""MetricsReader reads the metrics of this host, and of the queue where its steward reports it, for every export."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import anyio
import structlog

from holdfast.errors import StoreError
from holdfast.store.protocol import ServerStore
from holdfast.telemetry import metric_table as table
from holdfast.telemetry.readings import Readings
from holdfastd.steward.metrics.host import Host
from holdfastd.steward.metrics.queue_report import QueueReport
from holdfastd.steward.metrics.reporter import Reporter

FRESH = 1.0  # seconds
STORE_TIMEOUT = 3.0  # seconds
LATE = f"the store does not answer within {STORE_TIMEOUT:g} s"

_log = structlog.get_logger("holdfast.steward")


class MetricsReader:
    """`recovered`: tasks that this steward put back, by the cause of their worker's end. `clock`: monotonic seconds."""

    def __init__(
        self,
        store: ServerStore,
        host: Host,
        reporter: Reporter,
        report: QueueReport,
        recovered: Mapping[str, int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._host = host
        self._reporter = reporter
        self._report = report
        self._recovered = recovered
        self._clock = clock
        self._trouble = ""
        self._reading = anyio.Lock()
        self._read_at = float("-inf")
        self._readings = Readings()

    async def read(self, fresh: float = FRESH) -> Readings:
        """Calls at the same time share one reading. `fresh`: seconds for which an earlier reading is answered again."""
        async with self._reading:
            if self._clock() - self._read_at >= fresh:
                self._readings = await self._read()
                self._read_at = self._clock()
            return self._readings

    async def _read(self) -> Readings:
        readings = await self._host.read()
        for cause, number in self._recovered.items():
            readings.set(table.HOST_RECOVERED, number, cause)
        queue: Readings | None = None
        is_up = False
        try:
            with anyio.fail_after(STORE_TIMEOUT):
                queue = await self._read_queue()
                is_up = True
            self._note("")
        except (StoreError, TimeoutError) as error:
            self._note(str(error) or LATE)
        readings.set(table.STORE_UP, is_up)
        readings.set(table.REPORTER, queue is not None)
        readings.update(queue or Readings())
        return readings

    def _note(self, trouble: str) -> None:
        """Log why the queue cannot be read, once while it stays so."""
        if trouble and trouble != self._trouble:
            _log.warning("metrics of the queue cannot be read", reason=trouble)
        self._trouble = trouble

    async def _read_queue(self) -> Readings | None:
        """None where another steward reports the queue."""
        if await self._reporter.ask():
            return await self._report.read()
        self._report.forget()
        await self._store.ping()
        return None
