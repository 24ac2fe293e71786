"""Imports every module that children need before the first fork, and prepares the memory that they share."""

from __future__ import annotations

import ctypes
import gc
import importlib
import mmap
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
    _use_up_free_memory()
    gc.freeze()  # a collection in a child would write to all objects


def _forget_looked_up_names() -> None:
    """Empty the cache of attribute lookups: a child that replaces an entry would write to the page of a name."""
    forget = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)
    if forget is not None:
        forget()


# A child puts its first objects where memory is free between those of its parent, and copies a page for each. Nothing
# is free there any more: they follow one another in fresh memory. It saves 4 % of the memory of a pool.

LARGEST_BLOCK, SMALLEST_BLOCK = 1 << 17, 24  # bytes: larger blocks of the C library are mapped on their own
COARSE, FINE, FINE_FROM = 512, 16, 4096  # bytes: the steps between sizes, fine ones from 4096 downwards
SMALLEST_OBJECT, LARGEST_OBJECT = 48, 512  # bytes: Python's allocator has a pool for each size, in steps of 16
IN_A_ROW = 1024  # bytes of objects without a hole: the rest of this pool is free
MOST = 1 << 17  # bytes of objects of one size, in case that memory comes from another allocator

_filling: list[bytes] = []


def _use_up_free_memory() -> None:
    empty = sys.getsizeof(b"")
    for size in range(SMALLEST_OBJECT, LARGEST_OBJECT + 1, FINE):
        last = in_a_row = 0
        for _ in range(MOST // size):
            filling = bytes(size - empty)
            in_a_row = in_a_row + size if id(filling) - last == size else 0
            last = id(filling)
            _filling.append(filling)
            if in_a_row > IN_A_ROW:
                break
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):  # of glibc alone
        return
    libc.malloc_trim(0)
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    libc.free.argtypes = (ctypes.c_void_p,)
    end = libc.sbrk(0) - mmap.PAGESIZE
    for size in (*range(LARGEST_BLOCK, FINE_FROM, -COARSE), *range(FINE_FROM, SMALLEST_BLOCK - 1, -FINE)):
        while (block := libc.malloc(size)) and block < end:
            pass
        libc.free(block)


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
