"""Fills the free memory between blocks of the C library's allocator: new blocks follow it, and a leak shows at once."""

from __future__ import annotations

import ctypes

LARGEST, SMALLEST = 1 << 17, 24  # bytes: larger blocks are mapped on their own, smaller ones do not exist
COARSE, FINE = 512, 16  # bytes: the steps between sizes, fine ones from 4096 downwards
FINE_FROM = 4096


class _Info(ctypes.Structure):
    """The answer of mallinfo2(3)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    ] + [("keepcost", ctypes.c_size_t)]


def fill() -> None:
    """Take blocks of each size, the largest first, until they come from the memory behind all others."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):  # of glibc alone, since 2.33
        return
    libc.mallinfo2.restype = _Info
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    libc.malloc.argtypes, libc.free.argtypes = (ctypes.c_size_t,), (ctypes.c_void_p,)
    behind_all = libc.sbrk(0) - libc.mallinfo2().keepcost
    for size in (*range(LARGEST, FINE_FROM, -COARSE), *range(FINE_FROM, SMALLEST - 1, -FINE)):
        while (block := libc.malloc(size)) and block < behind_all:
            pass
        libc.free(block)
