"""Exporters of the SDK that take records of spans among its own."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TypeVar, cast

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext

from holdfast.telemetry import semantic_names
from holdfast.telemetry.encoded_spans import encode
from holdfast.telemetry.usual_span import EndedSpan
from holdfast.version import installed

_Exporter = TypeVar("_Exporter", bound=SpanExporter)


class SpanEncoder:
    """Encodes spans of the SDK as it does, and encodes records beside them."""

    def __init__(self, resource: Resource) -> None:
        scope = InstrumentationScope(semantic_names.HOLDFAST, installed(), semantic_names.SCHEMA_URL)
        example = ReadableSpan("", SpanContext(1, 1, is_remote=False), resource=resource, instrumentation_scope=scope)
        self._empty: ResourceSpans = encode_spans([example]).resource_spans[0]
        del self._empty.scope_spans[0].spans[:]

    def __call__(self, spans: Sequence[ReadableSpan | EndedSpan]) -> ExportTraceServiceRequest:
        request = encode_spans([span for span in spans if not isinstance(span, EndedSpan)])
        encoded = b"".join(_encoded(span) for span in spans if isinstance(span, EndedSpan))
        if encoded:
            group = request.resource_spans.add()
            group.CopyFrom(self._empty)
            group.scope_spans[0].MergeFromString(encoded)
        return request


def _encoded(span: EndedSpan) -> bytes:
    planned = span.plan(span.record)
    planned.attributes.update(span.notes)
    return encode(planned, span.end_ns)


def takes_records(exporter: SpanExporter) -> bool:
    return isinstance(exporter, _TakesRecords)


def http(endpoint: str, resource: Resource) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return taking_records(OTLPSpanExporter, resource)(f"{endpoint.rstrip('/')}/v1/traces")


def grpc(endpoint: str, resource: Resource) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    return taking_records(OTLPSpanExporter, resource)(endpoint)


class _TakesRecords:
    pass


def taking_records(exporter: type[_Exporter], resource: Resource) -> type[_Exporter]:
    """A subclass of `exporter` whose methods call a SpanEncoder in place of `encode_spans` of their module; `exporter`
    itself if none of its methods calls that, as in another version."""
    encoder = SpanEncoder(resource)
    methods = {
        name: _with_encoder(method, encoder)
        for name, method in vars(exporter).items()
        if isinstance(method, FunctionType) and encode_spans.__name__ in method.__code__.co_names
    }
    if not methods:
        return exporter
    return cast("type[_Exporter]", type(exporter.__name__, (_TakesRecords, exporter), methods))


def _with_encoder(method: FunctionType, encoder: SpanEncoder) -> FunctionType:
    names = {**method.__globals__, encode_spans.__name__: encoder}
    copied = FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
    copied.__kwdefaults__ = method.__kwdefaults__
    return copied
