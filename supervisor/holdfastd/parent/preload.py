"""Everything a child will need, imported once before the first fork, so that children are cheap and share pages."""

from __future__ import annotations

import gc
import importlib

from holdfast.broker.redis.scripts import product

MODULES = (
    "anyio._backends._asyncio",  # anyio imports it lazily, which would cost every child 70 ms
    "anyio._core._signals",
    "encodings.ascii",
    "hiredis",
    "holdfast.broker.redis.store",
    "holdfast.worker.main",
    "holdfastd.steward.main",
    "msgspec",
    "redis.asyncio",
    "ssl",
    "structlog",
    "uvloop",
)


def preload() -> None:
    """Import what stands above."""
    for name in MODULES:
        importlib.import_module(name)
    product()


def freeze() -> None:
    """Move what is there out of the collector's sight: a child's collection would copy shared pages."""
    gc.collect()
    gc.freeze()
