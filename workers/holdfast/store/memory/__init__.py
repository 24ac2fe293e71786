"""The store in memory: the operations of `store/lua`, run inside this process over a key space of its own.

There is one protocol, in Lua. `fakeredis` keeps the keys and runs the operations (`lupa` is its Lua); everything that
blocks waits here, on the event loop. What is in it is gone when the process ends.
"""

from __future__ import annotations

from holdfast.errors import MissingPackageError

try:
    from holdfast.store.memory.shared_stores import is_served, open_memory, serving
    from holdfast.store.memory.store import MemoryStore
except ModuleNotFoundError as error:
    if error.name not in {"fakeredis", "lupa"}:
        raise
    told = f"the store in memory needs {error.name}: pip install 'fakeredis[lua]'"
    raise MissingPackageError(told) from error

__all__ = ["MemoryStore", "is_served", "open_memory", "serving"]
