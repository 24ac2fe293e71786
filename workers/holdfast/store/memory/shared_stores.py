"""Shares stores in memory: a caller gets the one that this process serves for its queue, else a new one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from holdfast.errors import StoreRefusedError
from holdfast.store.memory.store import MemoryStore

_served: dict[str, MemoryStore] = {}


@contextmanager
def serving(queue: str) -> Generator[MemoryStore]:
    """A store that every caller in this process who opens this queue shares."""
    store = _served[queue] = MemoryStore(queue)
    try:
        yield store
    finally:
        del _served[queue]


def is_served(queue: str) -> bool:
    """True if every caller in this process shares one store of this queue."""
    return queue in _served


@asynccontextmanager
async def open_memory(queue: str) -> AsyncGenerator[MemoryStore]:
    """The store of this queue, if this process serves one in memory; else a new one, empty.

    Raises StoreRefusedError if this process serves another queue: nobody would ever run the tasks.
    """
    if _served and queue not in _served:
        [served] = _served
        raise StoreRefusedError(f"this process serves queue {served} in memory, not {queue}: give that queue_name")
    yield _served.get(queue) or MemoryStore(queue)
