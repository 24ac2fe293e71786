"""The collector of OpenTelemetry: sends it one span, and judges what came back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

from holdfast_config import Settings
from holdfastd.doctor.finding import Check, Finding

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

ANSWER_TIMEOUT = 5.0  # seconds
LOGGER = "opentelemetry"  # the exporters say only there what came back

_COLLECTOR = Check("telemetry", "collector")


@dataclass(frozen=True, slots=True)
class SentSpan:
    """`endpoint` None: none is set. `accepted` None: no answer came in time. `said`: the words of the exporter."""

    endpoint: str | None
    accepted: bool | None = None
    trace_id: str = ""
    said: str = ""


def look(settings: Settings) -> SentSpan:
    """Sends a span named `holdfast doctor`; ends within ANSWER_TIMEOUT."""
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


@dataclass(slots=True)
class _Trial:
    """One span on its way to the collector."""

    exporter: SpanExporter
    accepted: bool | None = None
    trace_id: str = field(default="", init=False)

    def send(self) -> None:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SpanExportResult

        tracers = TracerProvider(resource=Resource.create({SERVICE_NAME: "holdfast"}), shutdown_on_exit=False)
        span = tracers.get_tracer("holdfast").start_span("holdfast doctor")
        self.trace_id = f"{span.get_span_context().trace_id:032x}"
        span.end()
        self.accepted = self.exporter.export([span]) is SpanExportResult.SUCCESS  # type: ignore[list-item]


def _sent(endpoint: str, protocol: str, words: _Words) -> SentSpan:
    trial = _Trial(_exporter(endpoint, protocol))
    sender = Thread(target=trial.send, daemon=True)
    sender.start()
    sender.join(ANSWER_TIMEOUT)
    return SentSpan(endpoint, trial.accepted, trial.trace_id, words.last)


def _exporter(endpoint: str, protocol: str) -> SpanExporter:
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint, timeout=int(ANSWER_TIMEOUT))
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(f"{endpoint.rstrip('/')}/v1/traces", timeout=int(ANSWER_TIMEOUT))


def judge(sent: SentSpan) -> Iterator[Finding]:
    if sent.endpoint is None:
        yield _COLLECTOR.ok("not used: OTEL_EXPORTER_OTLP_ENDPOINT is not set")
    elif sent.accepted:
        yield _COLLECTOR.ok(f"{sent.endpoint} accepted a span, trace {sent.trace_id}")
    else:
        said = f": {sent.said}" if sent.said else ""
        answer = "did not accept a span" if sent.accepted is False else "gave no answer to a span"
        fix = "check OTEL_EXPORTER_OTLP_ENDPOINT, _PROTOCOL and _HEADERS, and that the collector runs"
        yield _COLLECTOR.warning(f"{sent.endpoint} {answer} within {ANSWER_TIMEOUT:g} s{said}", fix)
