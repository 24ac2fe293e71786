"""The SDK's providers for one process: they start threads, so they are made after the fork; shutdown has a limit."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import NamedTuple, cast

from opentelemetry import trace
from opentelemetry.sdk.environment_variables import OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import TracerProvider

from holdfast.telemetry import span_exporters
from holdfast.telemetry.fast_span import Take
from holdfast.telemetry.global_provider import provider_in_use
from holdfast.telemetry.resource import resource
from holdfast.telemetry.span_exporters import takes_records

# The provider of spans of a process: one of its own, or the global one, through which handlers and the libraries that
# they use make theirs. A global provider cannot be replaced: a second worker in the same process uses that of the
# first.

SEND_EVERY = 1000  # milliseconds, unless OTEL_BSP_SCHEDULE_DELAY says otherwise: a killed process loses what waits


class SpanProvider(NamedTuple):
    """A provider of spans. `end` sends the rest."""

    tracers: TracerProvider
    end: Callable[[], object]


def own(exporter: SpanExporter, resource: Resource) -> SpanProvider:
    provider = BatchingProvider(exporter, resource)
    return SpanProvider(provider, provider.shutdown)


def global_one(exporter: SpanExporter, resource: Resource) -> SpanProvider:
    """The global provider; ours becomes it if there is none."""
    if provider_in_use() is None:
        trace.set_tracer_provider(BatchingProvider(exporter, resource))
    return given()


def given() -> SpanProvider:
    """The global provider. It is not shut down, because other code may still use it."""
    provider = trace.get_tracer_provider()
    return SpanProvider(provider, getattr(provider, "force_flush", bool))


class BatchingProvider(SdkTracerProvider):
    """Sends spans in batches. `take` sends plain records of spans; None: all spans go through the SDK."""

    def __init__(self, exporter: SpanExporter, resource: Resource) -> None:
        # At exit the SDK would wait for a collector that is away; `Providers.shutdown` has a limit.
        super().__init__(resource=resource, shutdown_on_exit=False)
        delay = None if OTEL_BSP_SCHEDULE_DELAY in os.environ else SEND_EVERY
        processor = BatchSpanProcessor(exporter, schedule_delay_millis=delay)
        super().add_span_processor(processor)
        self.take: Take | None = None
        if takes_records(exporter) and not _has_limits():
            self.take = cast("Take", processor.on_end)  # it looks only at a span's context

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        """Add a processor. It gets all spans, so the SDK makes all of them."""
        self.take = None
        super().add_span_processor(span_processor)


def _has_limits() -> bool:
    """True if variables limit the contents of spans; only the SDK applies such limits."""
    return any(name.startswith("OTEL_") and name.endswith("_LIMIT") for name in os.environ)


SHUTDOWN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Providers:
    spans: SpanProvider

    @classmethod
    def towards(cls, endpoint: str, service: str, *, grpc: bool, is_global: bool = False) -> Providers:
        """Providers that send to the collector at `endpoint`. `is_global`: spans of other code in this process are
        sent, too, through an existing provider or ours."""
        about = resource(service)
        exporter = (span_exporters.grpc if grpc else span_exporters.http)(endpoint, about)
        return cls(global_one(exporter, about) if is_global else own(exporter, about))

    @classmethod
    def of_handler(cls) -> Providers:
        """The provider of spans that the handler's module has set."""
        return cls(given())

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Send the rest, for at most `seconds`; the SDK itself would try for 30."""
        thread = Thread(target=self.spans.end, daemon=True)
        thread.start()
        thread.join(seconds)
