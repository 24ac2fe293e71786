"""Imports every module that children need before the first fork, and prepares the memory that they share."""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
from contextlib import suppress

from holdfast.store.redis.scripts import product
from holdfast.version import installed
from holdfastd.parent import lean_imports

# Prepares the memory of a process for the children that it forks, so that they write to few pages: each written page is
# copied.


def freeze() -> None:
    """Collect garbage, give free memory back, and arrange the rest so that children write to few of its pages."""
    gc.collect()
    _forget_looked_up_names()
    _give_back_free_memory()
    gc.freeze()  # a collection in a child would write to all objects


def _forget_looked_up_names() -> None:
    """Empty the cache of attribute lookups: a child that replaces an entry would write to the page of a name."""
    forget = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)
    if forget is not None:
        forget()


def _give_back_free_memory() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
    if trim is not None:
        trim(0)


MODULES = (
    "anyio._backends._asyncio",  # anyio imports it lazily, which would cost every child 70 ms
    "anyio._core._signals",
    "encodings.ascii",
    "hiredis",
    "holdfast.store.redis.store",
    "holdfast.worker.main",
    "holdfastd.steward.steward_process",
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
