"""Telemetry over OTLP, off unless an endpoint is set; opened after the fork, for it starts threads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.telemetry.disabled import DisabledTelemetry
from holdfast.telemetry.port import Span, Telemetry

if TYPE_CHECKING:
    from holdfast.core.store_info import ServerAddress
    from holdfast_config import Settings

__all__ = [
    "Telemetry",
    "Span",
    "Tracing",
    "HTTP",
    "GRPC",
    "open_in_worker",
    "open_in_steward",
    "open_inside",
    "open_telemetry",
]

HTTP = "http/protobuf"
GRPC = "grpc"


Server = Callable[[], "ServerAddress | None"]


def no_server() -> None:
    """The address of a store without a server: None."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """`mode`: link or parent. `baggage`: the producer's baggage reaches the handler. `is_global`: our provider also
    sends spans that other code of this process makes; if the process already has a provider, that one is used.
    `server()`: the address of the store's server, for the spans."""

    mode: str = "link"
    baggage: bool = False
    is_global: bool = False
    server: Server = no_server

    @classmethod
    def of_worker(cls, settings: Settings, server: Server) -> Tracing:
        return cls(settings.trace_mode, settings.trace_baggage, is_global=True, server=server)

    @classmethod
    def of_steward(cls, settings: Settings, server: Server) -> Tracing:
        return cls(settings.trace_mode, server=server)


def open_in_worker(settings: Settings, server: Server) -> Telemetry:
    """Telemetry of a worker process, opened after the import of its handler: spans go through a provider that the
    handler's module has set, even where we have no collector."""
    if settings.otlp_endpoint is None and _handler_traces():
        from holdfast.telemetry.providers import Providers
        from holdfast.telemetry.task_tracer import OtlpTelemetry

        return OtlpTelemetry(Providers.of_handler(), Tracing.of_worker(settings, server))
    tracing = Tracing.of_worker(settings, server)
    return open_telemetry(settings.otlp_endpoint, "holdfast-worker", settings.otlp_protocol, tracing)


def open_in_steward(settings: Settings, server: Server) -> Telemetry:
    tracing = Tracing.of_steward(settings, server)
    return open_telemetry(settings.otlp_endpoint, "holdfast-steward", settings.otlp_protocol, tracing)


def open_inside(settings: Settings, server: Server) -> Telemetry:
    """Telemetry of a worker inside an application. If we send nothing, the application's own telemetry still works."""
    if settings.otlp_endpoint is None:
        from holdfast.telemetry.context_only import ContextOnlyTelemetry

        return ContextOnlyTelemetry()
    return open_in_worker(settings, server)


def open_telemetry(
    endpoint: str | None, service: str, protocol: str = HTTP, tracing: Tracing | None = None
) -> Telemetry:
    """Telemetry of this process, to the collector at the URL `endpoint`; None: nothing is sent or loaded. `service` is
    its name there, unless OTEL_SERVICE_NAME gives another. `protocol`: the value of OTEL_EXPORTER_OTLP_PROTOCOL, `grpc`
    or anything else for http/protobuf.
    """
    if endpoint is None:
        return DisabledTelemetry()
    from holdfast.telemetry.providers import Providers
    from holdfast.telemetry.task_tracer import OtlpTelemetry

    tracing = tracing or Tracing()
    providers = Providers.towards(endpoint, service, grpc=protocol == GRPC, is_global=tracing.is_global)
    return OtlpTelemetry(providers, tracing)


def _handler_traces() -> bool:
    """True if the handler's module has set a provider of spans. Imports nothing that the module has not imported."""
    if "opentelemetry.trace" not in sys.modules:
        return False
    from holdfast.telemetry.global_provider import provider_in_use

    return provider_in_use() is not None
