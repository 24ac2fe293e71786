"""Imports libraries without others that they would import as well, although no process of a service uses them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager

TELEMETRY = "opentelemetry"  # the Redis library has metrics of its own, off by default
DRAWING = "rich"  # structlog draws tracebacks with it; ours are plain


def prepare(*, telemetry: bool) -> None:
    """Import structlog and the Redis library. `telemetry`: this service sends telemetry."""
    with _left_out(DRAWING, *(() if telemetry else (TELEMETRY,))):
        importlib.import_module("structlog")
        importlib.import_module("redis.asyncio")
    _offer_telemetry_of_redis()


@contextmanager
def _left_out(*libraries: str) -> Generator[None]:
    absent = [name for name in libraries if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # as the import system marks what cannot be imported
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def _offer_telemetry_of_redis() -> None:
    """Let a handler use the Redis library's own metrics nevertheless: it imports OpenTelemetry when they are set up."""
    for name in ("redis.observability.metrics", "redis.observability.providers"):
        module = sys.modules.get(name)
        if hasattr(module, "OTEL_AVAILABLE"):
            vars(module)["OTEL_AVAILABLE"] = True
