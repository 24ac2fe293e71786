"""The SDK's providers for one process: they start threads, so they are made after the fork; shutdown has a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

SHUTDOWN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Providers:
    tracers: TracerProvider
    meters: MeterProvider

    @classmethod
    def towards(cls, endpoint: str, service: str, *, grpc: bool) -> Providers:
        """Providers that send to the collector at `endpoint`."""
        spans, metrics = _grpc(endpoint) if grpc else _http(endpoint)
        resource = _resource(service)
        # At exit the SDK would wait for a collector that is away; `shutdown` has a limit.
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(spans))
        meters = MeterProvider([PeriodicExportingMetricReader(metrics)], resource, shutdown_on_exit=False)
        return cls(tracers, meters)

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Send what is left, for at most `seconds`; the SDK itself would go on for 30."""
        deadline = time.monotonic() + seconds
        for thread in [_start(self.tracers.shutdown), _start(self.meters.shutdown)]:
            thread.join(max(0.0, deadline - time.monotonic()))


def _start(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def _resource(service: str) -> Resource:
    """The SDK's attributes and our service name; the user's OTEL_* variables override both."""
    return Resource.create().merge(Resource({SERVICE_NAME: service})).merge(OTELResourceDetector().detect())


def _http(endpoint: str) -> tuple[SpanExporter, MetricExporter]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    base = endpoint.rstrip("/")
    return OTLPSpanExporter(f"{base}/v1/traces"), OTLPMetricExporter(f"{base}/v1/metrics")


def _grpc(endpoint: str) -> tuple[SpanExporter, MetricExporter]:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint), OTLPMetricExporter(endpoint)
