"""Prepares the memory of a process for the children that it forks: what they write to is copied for each of them."""

from __future__ import annotations

import ctypes
import gc
import sys

from holdfastd.parent import malloc_holes

SMALLEST, LARGEST, STEP = 64, 512, 16  # bytes: the size classes of Python's allocator that are filled
POOL = 16384  # bytes that the allocator takes at once for one size class
MOST = 1 << 17  # bytes for one size class, in case that memory comes from another allocator
BYTES_HEADER = sys.getsizeof(b"")

_filling: list[bytes] = []


def freeze() -> None:
    """Collect garbage, give free memory back, and arrange what is left so that children write to few of its pages."""
    gc.collect()
    _forget_looked_up_names()
    _give_back_free_memory()
    _fill_holes()
    malloc_holes.fill()
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


def _fill_holes() -> None:
    """Fill what is free between living objects: else the first objects of each child would be made there, and each
    would copy a page."""
    for size in range(SMALLEST, LARGEST + 1, STEP):
        _fill(size)


def _fill(size: int) -> None:
    """Make objects of this size until a fresh stretch of memory is used: there they follow one another."""
    last = in_a_row = 0
    for _ in range(MOST // size):
        filling = bytes(size - BYTES_HEADER)
        in_a_row = in_a_row + 1 if id(filling) - last == size else 0
        last = id(filling)
        _filling.append(filling)
        if in_a_row > POOL // size - 2:
            return
