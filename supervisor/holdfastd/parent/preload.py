"""Imports all modules that children need, and prepares the memory that they share. This runs before the first fork."""

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

# Prepares the memory of a process before it forks children. A child shares the pages of memory until it writes to one,
# which is then copied. So the children should write to few pages.


def freeze() -> None:
    """Collect garbage, return free memory to the kernel, and arrange the rest so that children write to few pages."""
    gc.collect()
    _forget_looked_up_names()
    _use_up_free_memory()
    gc.freeze()  # otherwise a garbage collection in a child would write to all objects, so to all pages


def _forget_looked_up_names() -> None:
    """Empty Python's cache of attribute lookups. Otherwise a child that replaces an entry of the cache would change a
    reference count on a shared page of memory, and the kernel would copy the page."""
    forget = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)
    if forget is not None:
        forget()


# A child would put its first objects into holes between objects of its parent, and copy a page for each hole. So the
# parent fills the holes before it forks, and a child's objects follow one another in new memory. This saves 4 % of the
# memory of a pool.

LARGEST_BLOCK, SMALLEST_BLOCK = 1 << 17, 24  # bytes: the C library gives larger blocks pages of their own
COARSE, FINE, FINE_FROM = 512, 16, 4096  # bytes: steps between the sizes: COARSE down to FINE_FROM, then FINE
SMALLEST_OBJECT, LARGEST_OBJECT = 48, 512  # bytes: Python's allocator has a pool for each size, in steps of 16
IN_A_ROW = 1024  # bytes: after this many bytes of objects without a hole, the pool has no more holes
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
    if not hasattr(libc, "malloc_trim"):  # only glibc has this function
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
    "anyio._backends._asyncio",  # otherwise anyio imports it on first use, which would take 70 ms in every child
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


# Imported only with a telemetry collector. In a child these imports would need 23 MB and 0.3 s. They start no thread.
TELEMETRY = (
    "holdfast.telemetry.task_tracer",
    "holdfastd.steward.metrics.otlp_push",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
LOGS = ("holdfast.telemetry.log_sender", "opentelemetry.exporter.otlp.proto.http._log_exporter")


def preload(*, telemetry: bool = False) -> None:
    """Import the modules that children need, and compute the values that they share. `telemetry`: True if the service
    sends telemetry to a collector."""
    import_modules(telemetry=telemetry)
    product()
    installed()  # caches the version now; later, at the first status, the lookup would cost the parent 2 MB


def import_modules(*, telemetry: bool = False) -> None:
    """Import the modules that children need. `telemetry`: also import the modules that send telemetry to a
    collector."""
    lean_imports.prepare(telemetry=telemetry)
    for name in (*MODULES, *TELEMETRY) if telemetry else MODULES:
        importlib.import_module(name)
    if telemetry:
        with suppress(ImportError):  # OpenTelemetry's API for logs is not stable; if it is missing, logs are not sent
            for name in LOGS:
                importlib.import_module(name)
