"""Prepares the memory of a process for the children that it forks: what they write to is copied for each of them."""

from __future__ import annotations

import ctypes
import gc
import sys


def freeze() -> None:
    """Collect garbage, give free memory back, and arrange what is left so that children write to few of its pages."""
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
