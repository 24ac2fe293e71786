"""The pages that the steward serves: /metrics, /healthz and /readyz."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import anyio
import anyio.to_thread
import structlog

from holdfast.errors import StoreError
from holdfast.store.protocol import ServerStore
from holdfast.telemetry import metric_table as table
from holdfast.telemetry.readings import Readings
from holdfastd.steward.metrics.host import Host
from holdfastd.steward.metrics.http import Answer, Request
from holdfastd.steward.metrics.queue_report import QueueReport
from holdfastd.steward.metrics.reporter import Reporter

FRESH = 1.0  # seconds for which what was read is served again
STORE_TIMEOUT = 3.0  # seconds
_LATE = f"the store does not answer within {STORE_TIMEOUT:g} s"

_log = structlog.get_logger("holdfast.steward")


class Pages:
    """`clock`: monotonic seconds."""

    def __init__(
        self,
        store: ServerStore,
        host: Host,
        reporter: Reporter,
        report: QueueReport,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._host = host
        self._reporter = reporter
        self._report = report
        self._trouble = ""
        self._clock = clock
        self._reading = anyio.Lock()
        self._read_at = float("-inf")
        self._readings = Readings()
        self._spelled: dict[str, Answer] = {}  # by what a client accepts
        self._pages: dict[str, Callable[[Request], Awaitable[Answer]]] = {
            "/metrics": self._metrics,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }

    async def respond(self, request: Request) -> Answer:
        page = self._pages.get(request.path)
        if page is None:
            return Answer.line(HTTPStatus.NOT_FOUND, f"pages: {', '.join(self._pages)}")
        return await page(request)

    async def _healthz(self, _: Request) -> Answer:
        """An answer at all shows that the loop of the steward turns."""
        return Answer.line(HTTPStatus.OK, "ok")

    async def _readyz(self, _: Request) -> Answer:
        obstacle = await self._host.obstacle() or await self._store_obstacle()
        return Answer.line(HTTPStatus.SERVICE_UNAVAILABLE if obstacle else HTTPStatus.OK, obstacle or "ready")

    async def _store_obstacle(self) -> str:
        try:
            with anyio.fail_after(STORE_TIMEOUT):
                await self._store.ping()
        except StoreError as error:
            return str(error)
        except TimeoutError:
            return _LATE
        return ""

    async def _metrics(self, request: Request) -> Answer:
        """Scrapes at the same time share one reading."""
        async with self._reading:
            if self._clock() - self._read_at >= FRESH:
                self._readings = await self._read()
                self._read_at = self._clock()
                self._spelled.clear()
            if request.accept not in self._spelled:
                self._spelled = {
                    request.accept: await anyio.to_thread.run_sync(_answer, self._readings, request.accept)
                }
            return self._spelled[request.accept]

    async def _read(self) -> Readings:
        readings = await self._host.read()
        queue: Readings | None = None
        is_up = False
        try:
            with anyio.fail_after(STORE_TIMEOUT):
                queue = await self._read_queue()
                is_up = True
            self._note("")
        except (StoreError, TimeoutError) as error:
            self._note(str(error) or _LATE)
        readings.set(table.STORE_UP, is_up)
        readings.set(table.REPORTER, queue is not None)
        readings.update(queue or Readings())
        return readings

    def _note(self, trouble: str) -> None:
        """Log why the queue cannot be read, once while it stays so."""
        if trouble and trouble != self._trouble:
            _log.warning("metrics of the queue cannot be read", trouble=trouble)
        self._trouble = trouble

    async def _read_queue(self) -> Readings | None:
        """None where another steward reports the queue."""
        if await self._reporter.ask():
            return await self._report.read()
        self._report.forget()
        await self._store.ping()
        return None


def _answer(readings: Readings, accept: str) -> Answer:
    from holdfastd.steward.metrics.exposition import exposed  # the library is loaded by the first scrape

    content_type, body = exposed(readings, accept)
    return Answer(HTTPStatus.OK, body, content_type)
