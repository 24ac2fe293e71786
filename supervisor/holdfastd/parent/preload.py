"""Everything a child will need, imported once before the first fork, so that children are cheap and share pages."""

from __future__ import annotations

import gc
import importlib

from holdfast.store.redis.scripts import product
from holdfastd.version import installed

MODULES = (
    "anyio._backends._asyncio",  # anyio imports it lazily, which would cost every child 70 ms
    "anyio._core._signals",
    "encodings.ascii",
    "hiredis",
    "holdfast.store.redis.store",
    "holdfast.worker.main",
    "holdfastd.steward.main",
    "msgspec",
    "redis.asyncio",
    "ssl",
    "structlog",
    "uvloop",
)


# Where a collector is named: 23 MB and 0.3 s that every child would spend for itself. Imports start no thread.
TELEMETRY = ("holdfast.telemetry.otlp", "opentelemetry.exporter.otlp.proto.http.trace_exporter")


def preload(*, telemetry: bool = False) -> None:
    """Import what stands above, and make what all share."""
    for name in (*MODULES, *TELEMETRY) if telemetry else MODULES:
        importlib.import_module(name)
    product()
    installed()  # else the first status would cost the parent 2 MB of its own


def freeze() -> None:
    """Move what is there out of the collector's sight: a child's collection would copy shared pages."""
    gc.collect()
    gc.freeze()
