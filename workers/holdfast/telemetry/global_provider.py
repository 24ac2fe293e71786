"""The provider of spans that an application or a handler's module has set for its process. Needs no SDK."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider, TracerProvider


def provider_in_use() -> TracerProvider | None:
    """The global provider; None if nobody has set one."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, ProxyTracerProvider) else provider
