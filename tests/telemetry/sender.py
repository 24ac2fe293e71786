"""Sends a span and a metric through the SDK's exporters and prints how both went.

`python -m tests.telemetry.sender URL http/protobuf|grpc SECONDS`: for how long it tries.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.telemetry.receiver_process import GRPC

RESOURCE = Resource.create({"service.name": "sender"})


def span() -> ReadableSpan:
    exporter, provider = InMemorySpanExporter(), TracerProvider(resource=RESOURCE, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.get_tracer("tests").start_span("a span", attributes={"count": 3, "names": ["a", "b"]}).end()
    return exporter.get_finished_spans()[0]


def metrics() -> MetricsData:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], RESOURCE, shutdown_on_exit=False)
    provider.get_meter("tests").create_counter("a.counter").add(2)
    data = reader.get_metrics_data()
    assert data is not None
    return data


def main(endpoint: str, protocol: str, seconds: str) -> None:
    kind = "grpc" if protocol == GRPC else "http"
    tail = ("", "") if protocol == GRPC else ("/v1/traces", "/v1/metrics")

    def exporter(module: str, name: str, path: str) -> Any:
        exporters = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{kind}.{module}")
        return getattr(exporters, name)(endpoint + path, timeout=float(seconds))

    print(exporter("trace_exporter", "OTLPSpanExporter", tail[0]).export([span()]).name)
    print(exporter("metric_exporter", "OTLPMetricExporter", tail[1]).export(metrics()).name)


if __name__ == "__main__":
    main(*sys.argv[1:])
