"""The SDK's providers for one process: they start threads, so they are made after the fork; shutdown has a limit."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread

from holdfast.telemetry import span_exporters, span_providers
from holdfast.telemetry.resource import resource
from holdfast.telemetry.span_providers import SpanProvider

SHUTDOWN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Providers:
    spans: SpanProvider

    @classmethod
    def towards(cls, endpoint: str, service: str, *, grpc: bool, is_global: bool = False) -> Providers:
        """Providers that send to the collector at `endpoint`. `is_global`: spans of others in this process are sent,
        too, through a provider that is there or through ours."""
        about = resource(service)
        exporter = (span_exporters.grpc if grpc else span_exporters.http)(endpoint, about)
        return cls(span_providers.global_one(exporter, about) if is_global else span_providers.own(exporter, about))

    @classmethod
    def of_handler(cls) -> Providers:
        """The provider of spans that the handler's module has set."""
        return cls(span_providers.given())

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Send what is left, for at most `seconds`; the SDK itself would go on for 30."""
        thread = Thread(target=self.spans.end, daemon=True)
        thread.start()
        thread.join(seconds)
