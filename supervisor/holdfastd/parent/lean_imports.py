"""Imports libraries without others that they would import as well, although no process of a service uses them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager

from holdfastd.parent import package_on_demand

TELEMETRY = "opentelemetry"  # the Redis library has metrics of its own, off by default
DRAWING = "rich"  # structlog draws tracebacks with it; ours are plain
ON_DEMAND = (
    "importlib.metadata",  # the Redis library asks it for versions where it is told to
    "redis",  # imports the library's blocking clients
    "redis.asyncio",  # imports the library's client with its table of all commands
    "uvicorn",  # imports its command line
)


def prepare(*, telemetry: bool) -> None:
    """Import structlog and the connections of the Redis library. `telemetry`: this service sends telemetry."""
    for name in ON_DEMAND:
        package_on_demand.put(name)
    with _left_out(DRAWING, *(() if telemetry else (TELEMETRY,))):
        importlib.import_module("structlog")
        importlib.import_module("redis.asyncio.connection")
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
