"""Telemetry over OTLP, off unless an endpoint is set; opened after the fork, for it starts threads."""

from __future__ import annotations

from holdfast.telemetry.disabled import DisabledTelemetry
from holdfast.telemetry.port import Span, Telemetry

__all__ = ["Telemetry", "Span", "HTTP", "GRPC", "open_inside", "open_telemetry"]

HTTP = "http/protobuf"
GRPC = "grpc"


def open_inside(endpoint: str | None, service: str, protocol: str = HTTP) -> Telemetry:
    """The same within an application, whose own telemetry may go on where nothing is sent by us."""
    if endpoint is None:
        from holdfast.telemetry.context_only import ContextOnlyTelemetry

        return ContextOnlyTelemetry()
    return open_telemetry(endpoint, service, protocol)


def open_telemetry(endpoint: str | None, service: str, protocol: str = HTTP) -> Telemetry:
    """Telemetry of this process, to the collector at the URL `endpoint`; None: nothing is sent, nothing is loaded.

    `service` is its name there, unless OTEL_SERVICE_NAME gives another. `protocol` is what OTEL_EXPORTER_OTLP_PROTOCOL
    says: `grpc`, or anything else for http/protobuf.
    """
    if endpoint is None:
        return DisabledTelemetry()
    from holdfast.telemetry.otlp import OtlpTelemetry
    from holdfast.telemetry.providers import Providers

    return OtlpTelemetry(Providers.towards(endpoint, service, grpc=protocol == GRPC))
