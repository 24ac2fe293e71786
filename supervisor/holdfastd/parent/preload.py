"""Imports every module that children need before the first fork, so that children start fast and share pages."""

from __future__ import annotations

import importlib
from contextlib import suppress

from holdfast.store.redis.scripts import product
from holdfast.version import installed
from holdfastd.parent import lean_imports, memory_image

MODULES = (
    "anyio._backends._asyncio",  # anyio imports it lazily, which would cost every child 70 ms
    "anyio._core._signals",
    "encodings.ascii",
    "hiredis",
    "holdfast.store.redis.store",
    "holdfast.worker.main",
    "holdfastd.steward.main",
    "msgspec",
    "redis.asyncio.connection",
    "ssl",
    "structlog",
    "uvloop",
)


# Only with a telemetry collector. Each child would need 23 MB and 0.3 s for these imports. They start no thread.
TELEMETRY = (
    "holdfast.telemetry.task_tracer",
    "holdfastd.steward.metrics.otlp_push",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
LOGS = ("holdfast.telemetry.log_sender", "opentelemetry.exporter.otlp.proto.http._log_exporter")


def preload(*, telemetry: bool = False) -> None:
    """Import these modules, and compute the values that all children share."""
    import_modules(telemetry=telemetry)
    product()
    installed()  # cached now: at the first status it would cost the parent 2 MB


def import_modules(*, telemetry: bool = False) -> None:
    """Import these modules."""
    lean_imports.prepare(telemetry=telemetry)
    for name in (*MODULES, *TELEMETRY) if telemetry else MODULES:
        importlib.import_module(name)
    if telemetry:
        with suppress(ImportError):  # that API is not stable: without it, logs are not sent
            for name in LOGS:
                importlib.import_module(name)


def freeze() -> None:
    """Make the memory of this process cheap to share with the children that it forks from now on."""
    memory_image.freeze()
