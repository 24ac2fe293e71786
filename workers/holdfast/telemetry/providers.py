"""The SDK's providers for one process: they start threads, so they are made after the fork; shutdown has a limit."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from holdfast.telemetry.resource import resource

SHUTDOWN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Providers:
    tracers: TracerProvider

    @classmethod
    def towards(cls, endpoint: str, service: str, *, grpc: bool) -> Providers:
        """Providers that send to the collector at `endpoint`."""
        # At exit the SDK would wait for a collector that is away; `shutdown` has a limit.
        tracers = TracerProvider(resource=resource(service), shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(_grpc(endpoint) if grpc else _http(endpoint)))
        return cls(tracers)

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Send what is left, for at most `seconds`; the SDK itself would go on for 30."""
        thread = Thread(target=self.tracers.shutdown, daemon=True)
        thread.start()
        thread.join(seconds)


def _http(endpoint: str) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces")


def _grpc(endpoint: str) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint)
