"""LogSender sends log records to the collector. A record carries the ids of the span in which it was written.

OpenTelemetry's logs API for Python is not stable yet: its packages begin with an underscore. Only this module uses it.
With an SDK that has a different API, log records go to standard error only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

from holdfast.telemetry.resource import resource
from holdfast.telemetry.semantic_names import HOLDFAST, SCHEMA_URL
from holdfast.version import installed
from holdfast_config.error_text import shown, text_of
from holdfast_config.secret_texts import mask

MOST_WAITING = 2048  # records that wait while the collector is away; a newer record then replaces the oldest
PARENT = "holdfast-supervisor"  # the service name of the parent's records
TRACEBACK = "exception.stacktrace"  # the name in OpenTelemetry's conventions

_OWN_ENDPOINT = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"  # OpenTelemetry's variable for an endpoint that gets logs only
_ELSEWHERE = frozenset(
    {"event", "level", "logger", "timestamp", "trace_id", "span_id"}
)  # fields that have a place of their own in the record, so they are no attributes
_EXPORTERS = ("opentelemetry", "urllib3", "requests", "grpc")  # loggers used while sending: their records would loop
_SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warning": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "critical": SeverityNumber.FATAL,
}


class LogSender:
    def __init__(self, exporter: LogRecordExporter, service: str) -> None:
        batches = BatchLogRecordProcessor(exporter, max_queue_size=MOST_WAITING)
        self._provider = LoggerProvider(resource(service), shutdown_on_exit=False)
        self._provider.add_log_record_processor(batches)
        self._of_parent = LoggerProvider(resource(PARENT), shutdown_on_exit=False)
        self._of_parent.add_log_record_processor(batches)
        self.shutdown: Callable[[], object] = self._provider.shutdown
        self.flush: Callable[[], object] = self._provider.force_flush

    @classmethod
    def towards(cls, endpoint: str, service: str, *, grpc: bool) -> LogSender:
        """Make a sender to the collector at `endpoint`. `service`: the service name of this process."""
        return cls(_grpc(endpoint) if grpc else _http(endpoint), service)

    def send(self, event: Mapping[str, Any]) -> None:
        """Queue a log record, given with the fields that standard error shows; returns at once."""
        name = str(event.get("logger", ""))
        if name.split(".")[0] not in _EXPORTERS:
            _logger(self._provider, name).emit(_record(event, time.time_ns()))

    def relay(self, event: Mapping[str, Any]) -> None:
        """Queue a log record that the parent wrote earlier. Its `timestamp` field is the time of the record."""
        _logger(self._of_parent, str(event.get("logger", ""))).emit(_record(event, _written_ns(event)))


def _logger(provider: LoggerProvider, name: str) -> Logger:
    """The OpenTelemetry logger for a record. Only Holdfast's own records carry Holdfast's version."""
    if name.partition(".")[0] == HOLDFAST:
        return provider.get_logger(name, installed(), SCHEMA_URL)
    return provider.get_logger(name)


def _written_ns(event: Mapping[str, Any]) -> int:
    try:
        return round(datetime.fromisoformat(event["timestamp"]).timestamp() * 1e6) * 1000
    except (KeyError, TypeError, ValueError):
        return time.time_ns()


def _record(event: Mapping[str, Any], written_ns: int) -> LogRecord:
    level = str(event.get("level", "info"))
    return LogRecord(
        timestamp=written_ns,
        observed_timestamp=time.time_ns(),
        context=_context(event),
        severity_text=level,
        severity_number=_SEVERITIES.get(level, SeverityNumber.UNSPECIFIED),
        body=mask(text_of(event.get("event", ""))),
        attributes={_attribute(name): _plain(each) for name, each in event.items() if name not in _ELSEWHERE},
    )


def _attribute(field: str) -> str:
    return TRACEBACK if field == "exception" else field


def _plain(value: object) -> str | bool | int | float:
    """The value of a field with secrets masked, like on standard error."""
    masked = mask(text := value if isinstance(value, str) else shown(value))
    return value if isinstance(value, str | bool | int | float) and masked == text else masked


def _context(event: Mapping[str, Any]) -> Context | None:
    """The context for a log record. None if there is a current span, because the record then belongs to this span.
    Otherwise a context with the trace and span ids in the record, if it has any."""
    if get_current_span().get_span_context().is_valid:
        return None
    try:
        ids = int(event["trace_id"], 16), int(event["span_id"], 16)
    except (KeyError, TypeError, ValueError):
        return None
    return set_span_in_context(NonRecordingSpan(SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(1))))


def _http(endpoint: str) -> LogRecordExporter:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    return OTLPLogExporter(os.environ.get(_OWN_ENDPOINT) or f"{endpoint.rstrip('/')}/v1/logs")


def _grpc(endpoint: str) -> LogRecordExporter:
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter

    return OTLPLogExporter(os.environ.get(_OWN_ENDPOINT) or endpoint)
