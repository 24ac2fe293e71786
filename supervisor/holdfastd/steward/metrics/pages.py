"""The pages that the steward serves: /metrics, /healthz and /readyz."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import anyio
import anyio.to_thread

from holdfast.errors import StoreError
from holdfast.store.protocol import ServerStore
from holdfast.telemetry.readings import Readings
from holdfastd.steward.metrics.host import Host
from holdfastd.steward.metrics.http import Answer, HttpRequest
from holdfastd.steward.metrics.metrics_reader import LATE, STORE_TIMEOUT, MetricsReader


class Pages:
    def __init__(self, store: ServerStore, host: Host, reader: MetricsReader) -> None:
        self._store = store
        self._host = host
        self._reader = reader
        self._readings = Readings()
        self._spelled: dict[str, Answer] = {}  # by what a client accepts
        self._pages: dict[str, Callable[[HttpRequest], Awaitable[Answer]]] = {
            "/metrics": self._metrics,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
        }

    async def respond(self, request: HttpRequest) -> Answer:
        page = self._pages.get(request.path)
        if page is None:
            return Answer.line(HTTPStatus.NOT_FOUND, f"pages: {', '.join(self._pages)}")
        return await page(request)

    async def _healthz(self, _: HttpRequest) -> Answer:
        """An answer at all shows that the loop of the steward turns."""
        return Answer.line(HTTPStatus.OK, "ok")

    async def _readyz(self, _: HttpRequest) -> Answer:
        obstacle = await self._host.obstacle() or await self._store_obstacle()
        return Answer.line(HTTPStatus.SERVICE_UNAVAILABLE if obstacle else HTTPStatus.OK, obstacle or "ready")

    async def _store_obstacle(self) -> str:
        try:
            with anyio.fail_after(STORE_TIMEOUT):
                await self._store.ping()
        except StoreError as error:
            return str(error)
        except TimeoutError:
            return LATE
        return ""

    async def _metrics(self, request: HttpRequest) -> Answer:
        """The last answer serves every scrape of the same reading that accepts the same."""
        readings = await self._reader.read()
        if readings is not self._readings:
            self._readings = readings
            self._spelled.clear()
        answer = self._spelled.get(request.accept)
        if answer is None:
            answer = await anyio.to_thread.run_sync(_answer, readings, request.accept)
            if readings is self._readings:
                self._spelled = {request.accept: answer}
        return answer


def _answer(readings: Readings, accept: str) -> Answer:
    from holdfastd.steward.metrics.exposition import exposed  # the library is loaded by the first scrape

    content_type, body = exposed(readings, accept)
    return Answer(HTTPStatus.OK, body, content_type)
