"""The provider of spans of a process: one of its own, or the global one, through which handlers and the libraries that
they use make theirs. A global provider cannot be replaced: a second worker in the same process uses that of the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from opentelemetry import trace
from opentelemetry.sdk.environment_variables import OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import TracerProvider

from holdfast.telemetry.global_provider import provider_in_use

SEND_EVERY = 1000  # milliseconds, unless OTEL_BSP_SCHEDULE_DELAY says otherwise: a killed process loses what waits


class SpanProvider(NamedTuple):
    """`end` sends what is left."""

    tracers: TracerProvider
    end: Callable[[], object]


def own(exporter: SpanExporter, resource: Resource) -> SpanProvider:
    provider = _batching(exporter, resource)
    return SpanProvider(provider, provider.shutdown)


def global_one(exporter: SpanExporter, resource: Resource) -> SpanProvider:
    """The global provider; ours becomes it if there is none."""
    if provider_in_use() is None:
        trace.set_tracer_provider(_batching(exporter, resource))
    return given()


def given() -> SpanProvider:
    """The global provider. It is not shut down: others may still use it."""
    provider = trace.get_tracer_provider()
    return SpanProvider(provider, getattr(provider, "force_flush", bool))


def _batching(exporter: SpanExporter, resource: Resource) -> SdkTracerProvider:
    # At exit the SDK would wait for a collector that is away; `Providers.shutdown` has a limit.
    provider = SdkTracerProvider(resource=resource, shutdown_on_exit=False)
    delay = None if OTEL_BSP_SCHEDULE_DELAY in os.environ else SEND_EVERY
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=delay))
    return provider
