"""The store in memory: the operations of `store/lua`, run inside this process over its own key space.

`fakeredis` keeps the keys and runs the operations (with `lupa` as its Lua). Blocking commands wait on the event loop.
All data is gone when the process ends.
"""

from __future__ import annotations

from holdfast.errors import MissingPackageError

try:
    from holdfast.store.memory.store import MemoryStore, is_served, open_memory, serving
except ModuleNotFoundError as error:
    if error.name not in {"fakeredis", "lupa"}:
        raise
    message = f"the store in memory needs {error.name}: pip install 'fakeredis[lua]'"
    raise MissingPackageError(message) from error

__all__ = ["MemoryStore", "is_served", "open_memory", "serving"]
