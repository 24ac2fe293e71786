"""Checks the address of the metrics, and the collector of telemetry."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from threading import Thread
from typing import TYPE_CHECKING

from holdfast_config import Settings
from holdfast_config.addresses import ListenAddress, parse_listen
from holdfastd.control.listening_socket import ListenError, ListeningSocket
from holdfastd.doctor.finding import Check, Finding

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter


ANSWER_TIMEOUT = 5.0  # seconds
EVERY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to ask a server that listens on all

_ADDRESS = Check("metrics", "address")


@dataclass(frozen=True, slots=True)
class MetricsLook:
    """The answer at the address of the metrics. `address`: empty if none is set. `running`: a supervisor runs on this
    host. `status`: the HTTP status of the answer; None: no answer. `reason`: why there was no answer, or why a start
    could not open the address. `fix`: the remedy."""

    address: str
    running: bool = False
    status: int | None = None
    reason: str = ""
    fix: str = ""


def look_at_metrics(settings: Settings, *, running: bool) -> MetricsLook:
    """Ask for `/metrics` if a supervisor runs. Otherwise open the address for a moment, to see whether `supervisor
    start` could open it."""
    if settings.metrics is None:
        return MetricsLook("")
    address = parse_listen(settings.metrics)
    if not running:
        return MetricsLook(str(address), running, None, *_refused(address))
    if address.path is None and address.port == 0:
        return MetricsLook(str(address), running, reason="with port 0 each start chooses another port")
    try:
        return MetricsLook(str(address), running, _asked(address))
    except (OSError, HTTPException) as error:
        return MetricsLook(str(address), running, reason=str(error) or type(error).__name__)


def _refused(address: ListenAddress) -> tuple[str, str]:
    """The reason why a start could not open the address, and its remedy; both are empty if it could. This changes
    nothing: it does not remove a file at this path, even a socket that a killed supervisor has left."""
    if address.path is not None:
        return ("", "") if address.path.parent.is_dir() else ("its folder does not exist", "make it, or choose another")
    place = ListeningSocket(str(address))
    try:
        place.open()
    except ListenError as error:
        reason, _, fix = str(error).removeprefix(f"--metrics {address}: ").partition(": ")
        return reason, fix
    finally:
        place.close()
    return "", ""


def _asked(address: ListenAddress) -> int:
    connection = _Connection(address)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().status
    finally:
        connection.close()


class _Connection(HTTPConnection):
    """An HTTP connection to a port or to a unix socket."""

    def __init__(self, address: ListenAddress) -> None:
        super().__init__(EVERY_HOST.get(address.host, address.host), address.port, timeout=ANSWER_TIMEOUT)
        self._path = address.path

    def connect(self) -> None:
        if self._path is None:
            super().connect()
            return
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_TIMEOUT)
        self.sock.connect(str(self._path))


def judge_metrics(seen: MetricsLook) -> Iterator[Finding]:
    if not seen.address:
        yield _ADDRESS.ok("not used: --metrics is not set")
    elif not seen.running and seen.reason:
        yield _ADDRESS.problem(f"--metrics {seen.address}: {seen.reason}", seen.fix)
    elif not seen.running:
        yield _ADDRESS.ok(f"{seen.address} is free")
    elif seen.status == 200:
        yield _ADDRESS.ok(f"{seen.address} answers")
    elif seen.status is not None:
        yield _ADDRESS.warning(f"{seen.address} answers with status {seen.status}", _FIX)
    elif seen.address.endswith(":0"):
        yield _ADDRESS.note(
            f"{seen.address} was not checked: {seen.reason}",
            "the supervisor's log names the port; choose a fixed port to have it checked",
        )
    else:
        yield _ADDRESS.warning(f"{seen.address} does not answer: {seen.reason}", _FIX)


_FIX = "check that the supervisor was started with this --metrics, and that its steward runs (supervisor status)"


# Checks the collector of OpenTelemetry: sends it one span, and judges its answer.

LOGGER = "opentelemetry"  # the exporters write an error of the collector only to this log

_COLLECTOR = Check("telemetry", "collector")


@dataclass(frozen=True, slots=True)
class SentSpan:
    """The result of sending a span. `endpoint`: None if none is set. `accepted`: None if no answer came in time.
    `said`: the last message of the exporter."""

    endpoint: str | None
    accepted: bool | None = None
    trace_id: str = ""
    said: str = ""


def send_span(settings: Settings) -> SentSpan:
    """Send a span with the name `holdfast doctor` to the collector. This takes at most ANSWER_TIMEOUT seconds."""
    if settings.otlp_endpoint is None:
        return SentSpan(None)
    words = _Words()
    logging.getLogger(LOGGER).addHandler(words)
    try:
        return _sent(settings.otlp_endpoint, settings.otlp_protocol, words)
    finally:
        logging.getLogger(LOGGER).removeHandler(words)


class _Words(logging.Handler):
    """Keeps the last message of the exporter, on one line."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = " ".join(record.getMessage().split())


def _sent(endpoint: str, protocol: str, words: _Words) -> SentSpan:
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

    tracers = TracerProvider(resource=Resource.create({SERVICE_NAME: "holdfast"}), shutdown_on_exit=False)
    span = tracers.get_tracer("holdfast").start_span("holdfast doctor")
    span.end()
    exporter, answers = _exporter(endpoint, protocol), list[SpanExportResult]()
    sender = Thread(target=lambda: answers.append(exporter.export([span])), daemon=True)  # type: ignore[list-item]
    sender.start()
    sender.join(ANSWER_TIMEOUT)
    accepted = answers[0] is SpanExportResult.SUCCESS if answers else None
    return SentSpan(endpoint, accepted, f"{span.get_span_context().trace_id:032x}", words.last)


def _exporter(endpoint: str, protocol: str) -> SpanExporter:
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint, timeout=int(ANSWER_TIMEOUT))
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(f"{endpoint.rstrip('/')}/v1/traces", timeout=int(ANSWER_TIMEOUT))


def judge_telemetry(sent: SentSpan) -> Iterator[Finding]:
    if sent.endpoint is None:
        yield _COLLECTOR.ok("not used: OTEL_EXPORTER_OTLP_ENDPOINT is not set")
    elif sent.accepted:
        yield _COLLECTOR.ok(f"{sent.endpoint} accepted a span, trace {sent.trace_id}")
    else:
        said = f": {sent.said}" if sent.said else ""
        answer = "did not accept a span" if sent.accepted is False else "gave no answer to a span"
        fix = "check OTEL_EXPORTER_OTLP_ENDPOINT, _PROTOCOL and _HEADERS, and that the collector runs"
        yield _COLLECTOR.warning(f"{sent.endpoint} {answer} within {ANSWER_TIMEOUT:g} s{said}", fix)
