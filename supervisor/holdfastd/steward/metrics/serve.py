"""Exports the metrics of one steward: it serves them to scrapers such as Prometheus, and pushes them to a collector."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import anyio
import anyio.to_thread
from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar as Spelled

from holdfast.core.rollup import Histogram, lower_bound
from holdfast.errors import StoreError
from holdfast.store import Store
from holdfast.telemetry.logs import is_wanted
from holdfast.telemetry.metric_table import BOUNDS, Exemplar, Kind, Metric, Readings
from holdfast_config import Settings
from holdfast_config.addresses import ListenAddress
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.control.open_connections import AcceptLoop, OpenConnection, OpenConnections
from holdfastd.steward.duty import Health, run_duty
from holdfastd.steward.metrics import metrics_reader
from holdfastd.steward.metrics.metrics_reader import MeteredHost, MetricsReader
from holdfastd.steward.metrics.queue_report import QueueReport, Reporter
from holdfastd.steward.steward_spec import StewardSpec

# The part of HTTP that metrics need: the first line and two headers of a request, and a whole answer. No I/O.

PLAIN = "text/plain; charset=utf-8"
LONGEST_HEAD = 8192  # bytes of a request line and its headers
END_OF_HEAD = b"\r\n\r\n"
_READING = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `accept`: its Accept header. `host`: its Host header. Both are empty if the header is missing."""

    path: str
    accept: str = ""
    host: str = ""
    wants_body: bool = True


@dataclass(frozen=True, slots=True)
class MetricsAnswer:
    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN

    @classmethod
    def line(cls, status: HTTPStatus, text: str) -> MetricsAnswer:
        return cls(status, f"{text}\n".encode())

    def encoded(self, *, with_body: bool = True) -> bytes:
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
            f"Content-Type: {self.content_type}\r\n"
            f"Content-Length: {len(self.body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + (self.body if with_body else b"")


def read_request(head: bytes) -> HttpRequest | MetricsAnswer:
    """The request in these bytes. If this server cannot serve such a request, the answer that says so."""
    first, *headers = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return MetricsAnswer.line(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1")
    method, target, _ = words
    if method not in _READING:
        return MetricsAnswer.line(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are understood")
    accept, host = _header(headers, "accept"), _header(headers, "host")
    return HttpRequest(target.partition("?")[0], accept, host, method == "GET")


def _header(headers: list[str], name: str) -> str:
    """The values of all headers of this name, joined with commas."""
    pairs = (line.partition(":") for line in headers)
    return ", ".join(value.strip() for key, _, value in pairs if key.strip().lower() == name)


# Serves requests from a listening socket: one request for each connection, within limits of size, time and number.
#
# If MOST_CONNECTIONS are open, a new one ends a connection of the address that has the most. So a client that opens
# many connections, or sends nothing, cannot keep the other clients out.

MOST_CONNECTIONS = 16
TIME_LIMIT = 10.0  # seconds for one connection, from its start to the last byte of the answer

# The errors of a client that is gone, is too slow, or sends no valid request.
_GONE = (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class MetricsServer:
    """Serves metrics pages; `respond` makes the answers. `hosts`: the allowed names in the Host header; None: any name.
    A request without Host is served, too: no browser sends such a request."""

    def __init__(
        self, respond: Callable[[HttpRequest], Awaitable[MetricsAnswer]], hosts: AllowedHosts | None = None
    ) -> None:
        self._respond, self._hosts = respond, hosts
        self._connections = OpenConnections(MOST_CONNECTIONS)

    async def serve(self, listener: socket.socket) -> None:
        """Serve the pages of metrics until the call is cancelled."""
        accepting = AcceptLoop(listener, self._connections, self._connect)
        try:
            await anyio.sleep_forever()
        finally:
            accepting.close()

    async def _connect(self, stream: socket.socket, connection: OpenConnection) -> None:
        reader = asyncio.StreamReader(LONGEST_HEAD)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, stream)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        connection.end = transport.abort
        try:
            if not connection.is_over:
                await self._serve_one(reader, writer)
        finally:
            self._connections.over(connection)
            transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(*_GONE):
            async with asyncio.timeout(TIME_LIMIT):
                answer = await self._answer(await reader.readuntil(END_OF_HEAD))
                if writer.is_closing():  # a newer connection has ended this one, or the client is gone
                    return
                writer.write(answer)
                await writer.drain()
                writer.close()
                await writer.wait_closed()

    async def _answer(self, head: bytes) -> bytes:
        request = read_request(head)
        if isinstance(request, MetricsAnswer):
            return request.encoded()
        if self._hosts is not None and request.host and not self._hosts.allows(request.host):
            text = f"host {request.host[:100]!r} is not served here: add it with --web-hosts"
            answer = MetricsAnswer.line(HTTPStatus.MISDIRECTED_REQUEST, text)
        else:
            answer = await self._respond(request)
        return answer.encoded(with_body=request.wants_body)


# The pages that the steward serves: /metrics, /healthz and /readyz.


class Pages:
    def __init__(self, store: Store, host: MeteredHost, reader: MetricsReader) -> None:
        self._store = store
        self._host = host
        self._reader = reader
        self._readings = Readings()
        self._spelled: dict[str, MetricsAnswer] = {}  # by the Accept header

    async def respond(self, request: HttpRequest) -> MetricsAnswer:
        match request.path:
            case "/metrics":
                return await self._metrics(request.accept)
            case "/healthz":  # any answer shows that the steward's event loop turns
                return MetricsAnswer.line(HTTPStatus.OK, "ok")
            case "/readyz":
                obstacle = await self._host.obstacle() or await self._store_obstacle()
                status = HTTPStatus.SERVICE_UNAVAILABLE if obstacle else HTTPStatus.OK
                return MetricsAnswer.line(status, obstacle or "ready")
            case _:
                return MetricsAnswer.line(HTTPStatus.NOT_FOUND, "pages: /metrics, /healthz, /readyz")

    async def _store_obstacle(self) -> str:
        try:
            with anyio.fail_after(metrics_reader.STORE_TIMEOUT):
                await self._store.ping()
        except (StoreError, TimeoutError) as error:
            return str(error) or metrics_reader.LATE
        return ""

    async def _metrics(self, accept: str) -> MetricsAnswer:
        """The metrics page. Scrapes of the same reading in the same format share one answer."""
        readings = await self._reader.read()
        if readings is not self._readings:
            self._readings = readings
            self._spelled.clear()
        answer = self._spelled.get(accept)
        if answer is None:
            content_type, body = await anyio.to_thread.run_sync(exposed, readings, accept)
            answer = MetricsAnswer(HTTPStatus.OK, body, content_type)
            if readings is self._readings:
                self._spelled = {accept: answer}
        return answer


async def export_metrics(spec: StewardSpec, store: Store, health: Health, recovered: Mapping[str, int]) -> None:
    """Export the metrics until cancelled. Then give up the report of the queue, so that another steward can take it
    over. `recovered`: how many tasks this steward put back, by the cause of their worker's death."""
    reporter = Reporter(store, time.monotonic)
    settings = spec.settings
    host = metrics_reader.PoolHost(settings.runtime_dir) if spec.has_pool else metrics_reader.ProcessHost("steward")
    reader = MetricsReader(store, host, reporter, QueueReport(store, settings), recovered)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(run_duty, reporter.duty(), health)
            if spec.metrics is not None:
                server = MetricsServer(Pages(store, host, reader).respond, hosts_of(spec.metrics, settings))
                group.start_soon(server.serve, spec.metrics)
            if settings.otlp_endpoint is not None and is_wanted("METRICS"):
                group.start_soon(_push, settings.otlp_endpoint, settings, reader, health)
    finally:
        await reporter.leave()


def hosts_of(listener: socket.socket, settings: Settings) -> AllowedHosts | None:
    """The names allowed in the Host header; None: any. A browser of this host can reach loopback, so there the names
    are those that the dashboard allows. On another address scrapers may use any name of this host."""
    if listener.family == socket.AF_UNIX or not ListenAddress(listener.getsockname()[0]).is_loopback:
        return None
    return AllowedHosts.of(settings)


async def _push(endpoint: str, settings: Settings, reader: MetricsReader, health: Health) -> None:
    from holdfastd.steward.metrics.otlp_push import OtlpPush  # imports OpenTelemetry

    push = OtlpPush.towards(endpoint, settings, reader)
    try:
        await run_duty(push.duty(), health)
    finally:
        await push.leave()


# Writes readings in the formats of Prometheus, with the library prometheus_client.


class _Given(Collector):
    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Family]:
        for metric, values in self._readings.values():
            kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
            family = kind(metric.prometheus_name, metric.meaning, labels=metric.labels)
            for labels, value in values.items():
                family.add_metric(labels, float(value))
            yield family
        for metric, histograms in self._readings.histograms():
            if metric.only_otlp:
                continue
            yield _family(metric, histograms, self._readings)


def exposed(readings: Readings, accept: str) -> tuple[str, bytes]:
    """The content type and the text of the metrics page, in the format that the Accept header asks for."""
    encode, content_type = choose_encoder(accept)
    return content_type, encode(_Given(readings))


def cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    """The buckets of Prometheus: upper bounds with cumulative counts. If a bucket of the rollups crosses a bound, its
    samples count above the bound. So a duration may seem up to 9 % longer than it was, never shorter."""
    counts = [0] * (len(BOUNDS) + 1)
    for bucket, number in histogram.buckets.items():
        above = lower_bound(bucket + 1)
        counts[next((at for at, bound in enumerate(BOUNDS) if above <= bound), len(BOUNDS))] += number
    totals = [sum(counts[: at + 1]) for at in range(len(counts))]
    return list(zip([*map(str, BOUNDS), "+Inf"], map(float, totals), strict=True))


def _family(metric: Metric, histograms: dict[tuple[str, ...], Histogram], readings: Readings) -> HistogramMetricFamily:
    family = HistogramMetricFamily(metric.prometheus_name, metric.meaning, labels=metric.labels)
    for labels, histogram in histograms.items():
        exemplars = _by_bucket(readings.exemplars(metric, labels))
        buckets = [(bound, count, exemplars.get(bound)) for bound, count in cumulative(histogram)]
        family.add_metric(labels, cast("Any", buckets), histogram.micros / 1e6)
    return family


def _by_bucket(exemplars: Sequence[Exemplar]) -> dict[str, Spelled]:
    """The newest exemplar of each bucket, by the bucket's bound. Only the format OpenMetrics shows exemplars."""
    found: dict[str, Spelled] = {}
    for each in exemplars:
        bound = next((str(bound) for bound in BOUNDS if each.value <= bound), "+Inf")
        ids = {"trace_id": each.trace_id, "span_id": each.span_id}
        found.setdefault(bound, Spelled(ids, each.value, each.at_ms / 1000))
    return found
