"""The SDK's providers of spans for one process. They start threads, so a process makes them after the fork. Their
shutdown has a time limit."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType
from typing import NamedTuple, TypeVar, cast

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.sdk.environment_variables import OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, TraceFlags, TracerProvider
from opentelemetry.util.types import AttributeValue

from holdfast.telemetry import semantic_names
from holdfast.telemetry.delivery_span import PlannedSpan, Take
from holdfast.telemetry.logs import SHUTDOWN_SECONDS, within
from holdfast.telemetry.resource import resource
from holdfast.telemetry.without_sdk import provider_in_use
from holdfast.version import installed

# Exporters of the SDK that also accept plain records of spans. The encoder here writes the wire format of OTLP itself:
# this is five times as fast as with the objects of protobuf.
#
# The encoder here is only for simple spans: their attributes are texts, numbers or booleans, and they have no events
# and no status. `tests/telemetry/test_fast_spans.py` compares its bytes with those of the exporter's encoder.

# Tags of protobuf fields: number << 3 | wire type. Tags of ids include the length of the id.
_SPANS = b"\x12"  # of ScopeSpans
_TRACE_ID, _SPAN_ID, _LINK_ATTRIBUTE, _LINK_FLAGS = b"\x0a\x10", b"\x12\x08", b"\x22", b"\x35"  # of Link and of Span
_PARENT_ID, _NAME, _KIND, _ATTRIBUTE, _LINK = b"\x22\x08", b"\x2a", b"\x30", b"\x4a", b"\x6a"
_NO_STATUS, _FLAGS = b"\x7a\x00", b"\x85\x01"
_KEY, _VALUE = b"\x0a", b"\x12"  # of KeyValue
_TEXT, _BOOLEAN, _INTEGER, _FLOAT = b"\x0a", b"\x10", b"\x18", b"\x21"  # of AnyValue
_TIMES = struct.Struct("<cQcQ")
_START, _END = b"\x39", b"\x41"
_TWO_BYTES = 0x80  # from this number on, a varint has more than one byte
_BYTES = [bytes((number,)) for number in range(_TWO_BYTES)]
_double = struct.Struct("<d").pack
_LOCAL, _REMOTE = struct.pack("<I", 0x100), struct.pack("<I", 0x300)  # OTLP flags: the parent is local, or remote


def encode(planned: PlannedSpan, end_ns: int) -> bytes:
    """The span encoded as a protobuf field of ScopeSpans."""
    parent = planned.parent
    fields = [
        _TRACE_ID,
        planned.trace_id.to_bytes(16, "big"),
        _SPAN_ID,
        planned.span_id.to_bytes(8, "big"),
        _name(planned.name),
        _KIND,
        _varint(planned.kind.value + 1),
        _TIMES.pack(_START, planned.start_ns or end_ns, _END, end_ns),
    ]
    if parent is not None:
        fields += (_PARENT_ID, parent.span_id.to_bytes(8, "big"))
    for name, value in planned.attributes.items():
        fields += (_ATTRIBUTE, _attribute(name, value))
    for link in planned.links:
        fields += (_LINK, _link(link))
    fields += (_NO_STATUS, _FLAGS, _REMOTE if parent is not None and parent.is_remote else _LOCAL)
    return _SPANS + _sized(b"".join(fields))


def _link(link: Link) -> bytes:
    to = link.context
    fields = [_TRACE_ID, to.trace_id.to_bytes(16, "big"), _SPAN_ID, to.span_id.to_bytes(8, "big")]
    for name, value in (link.attributes or {}).items():
        fields += (_LINK_ATTRIBUTE, _attribute(name, value))
    fields += (_LINK_FLAGS, _REMOTE if to.is_remote else _LOCAL)
    return _sized(b"".join(fields))


def _encoded_attribute(name: str, value: AttributeValue) -> bytes:
    return _sized(_key(name) + _VALUE + _sized(_any_value(value)))


# Most attributes are the same in many spans, so their encoding is cached. Attributes of single tasks soon leave the
# cache.
_attribute = cast("Callable[[str, AttributeValue], bytes]", lru_cache(maxsize=1024, typed=True)(_encoded_attribute))


@lru_cache(maxsize=64)
def _key(name: str) -> bytes:
    return _KEY + _sized(name.encode(errors="backslashreplace"))


@lru_cache(maxsize=64)
def _name(name: str) -> bytes:
    return _NAME + _sized(name.encode(errors="backslashreplace"))


def _any_value(value: AttributeValue) -> bytes:
    match value:
        case str():
            return _TEXT + _sized(value.encode(errors="backslashreplace"))
        case bool():
            return _BOOLEAN + _varint(value)
        case int():
            return _INTEGER + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)
        case float():
            return _FLOAT + _double(value)
        case _:
            raise TypeError(f"a span cannot have an attribute of type {type(value).__name__}")


def _sized(body: bytes) -> bytes:
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    if number < _TWO_BYTES:
        return _BYTES[number]
    low = bytearray()
    while number >= _TWO_BYTES:
        low.append(number & 0x7F | 0x80)
        number >>= 7
    low.append(number)
    return bytes(low)


_Exporter = TypeVar("_Exporter", bound=SpanExporter)


_SAMPLED = SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class EndedSpan(NamedTuple):
    """An encoded span. Processors of the SDK read `context` to see whether the span is sampled."""

    encoded: bytes
    context: SpanContext = _SAMPLED


class SpanEncoder:
    """Encodes an export request like the SDK's `encode_spans`, and accepts EndedSpans, too."""

    def __init__(self, resource: Resource) -> None:
        scope = InstrumentationScope(semantic_names.HOLDFAST, installed(), semantic_names.SCHEMA_URL)
        example = ReadableSpan("", SpanContext(1, 1, is_remote=False), resource=resource, instrumentation_scope=scope)
        self._empty: ResourceSpans = encode_spans([example]).resource_spans[0]
        del self._empty.scope_spans[0].spans[:]

    def __call__(self, spans: Sequence[ReadableSpan | EndedSpan]) -> ExportTraceServiceRequest:
        request = encode_spans([span for span in spans if not isinstance(span, EndedSpan)])
        encoded = b"".join(span.encoded for span in spans if isinstance(span, EndedSpan))
        if encoded:
            group = request.resource_spans.add()
            group.CopyFrom(self._empty)
            group.scope_spans[0].MergeFromString(encoded)
        return request


def takes_records(exporter: SpanExporter) -> bool:
    return isinstance(exporter, _TakesRecords)


def over_http(endpoint: str, resource: Resource) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return taking_records(OTLPSpanExporter, resource)(f"{endpoint.rstrip('/')}/v1/traces")


def over_grpc(endpoint: str, resource: Resource) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    return taking_records(OTLPSpanExporter, resource)(endpoint)


class _TakesRecords:
    pass


def taking_records(exporter: type[_Exporter], resource: Resource) -> type[_Exporter]:
    """A subclass of `exporter` whose methods call a SpanEncoder instead of their module's `encode_spans`. Returns
    `exporter` itself if none of its methods calls `encode_spans`, for example in another version."""
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


# The provider of spans of a process: one of its own, or the global provider, through which handlers and their libraries
# make spans. A global provider cannot be replaced. So a second worker in the same process uses the provider of the
# first.

SEND_EVERY = 1000  # milliseconds, unless OTEL_BSP_SCHEDULE_DELAY is set; a killed process loses the waiting spans


class SpanProvider(NamedTuple):
    """A provider of spans. `end` sends the waiting spans."""

    tracers: TracerProvider
    end: Callable[[], object]

    def shutdown(self) -> None:
        """Send the waiting spans, for at most two seconds. Without this limit the SDK would try for 30 seconds."""
        within(SHUTDOWN_SECONDS, self.end)


def towards(endpoint: str, service: str, *, grpc: bool, is_global: bool = False) -> SpanProvider:
    """A provider that sends to the collector at `endpoint`. `is_global`: the new provider becomes the global one, so
    that spans of other code in this process are sent, too. If a global provider is set already, returns this one."""
    about = resource(service)
    exporter = (over_grpc if grpc else over_http)(endpoint, about)
    if not is_global:
        provider = BatchingProvider(exporter, about)
        return SpanProvider(provider, provider.shutdown)
    if provider_in_use() is None:
        trace.set_tracer_provider(BatchingProvider(exporter, about))
    return given()


def given() -> SpanProvider:
    """The global provider. Its `end` only flushes, because other code may still use the provider."""
    provider = trace.get_tracer_provider()
    return SpanProvider(provider, getattr(provider, "force_flush", bool))


class BatchingProvider(SdkTracerProvider):
    """A provider that sends spans in batches. `take` sends plain records of spans; None if all spans have to go through
    the SDK."""

    def __init__(self, exporter: SpanExporter, resource: Resource) -> None:
        # At exit the SDK would wait for a collector that is away; `SpanProvider.shutdown` has a limit.
        super().__init__(resource=resource, shutdown_on_exit=False)
        delay = None if OTEL_BSP_SCHEDULE_DELAY in os.environ else SEND_EVERY
        processor = BatchSpanProcessor(exporter, schedule_delay_millis=delay)
        super().add_span_processor(processor)
        self.take: Take | None = None
        if takes_records(exporter) and not _has_limits():
            send = cast("Callable[[EndedSpan], None]", processor.on_end)  # `on_end` reads only the context of a span
            self.take = lambda planned, end_ns: send(EndedSpan(encode(planned, end_ns)))

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        """Add a processor. A processor needs spans made by the SDK, so plain records are no longer accepted."""
        self.take = None
        super().add_span_processor(span_processor)


def _has_limits() -> bool:
    """True if OTEL_*_LIMIT variables limit the contents of spans. Only the SDK applies these limits."""
    return any(name.startswith("OTEL_") and name.endswith("_LIMIT") for name in os.environ)
