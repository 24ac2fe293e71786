"""The traced handler in a module that sets a provider of spans of its own, as an application may."""

from __future__ import annotations

import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.telemetry.traced import act

__all__ = ["act"]

provider = TracerProvider(resource=Resource({"service.name": "app"}), shutdown_on_exit=False)
provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter(f"{os.environ['APP_COLLECTOR']}/v1/traces"), schedule_delay_millis=100)
)
trace.set_tracer_provider(provider)
