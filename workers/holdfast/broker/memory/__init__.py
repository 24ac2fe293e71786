"""The store in memory: the operations of `holdfast/lua`, run inside this process over a key space of its own.

There is one protocol, in Lua. `fakeredis` keeps the keys and runs the operations (`lupa` is its Lua); everything that
blocks waits here, on the event loop. What is in it is gone when the process ends.
"""

from __future__ import annotations

from holdfast.broker.memory.store import MemoryStore

__all__ = ["MemoryStore"]
