"""The store of a process that forks workers, made before the fork: they share its memory, and need not make their own.

It has no connection before the fork, as connections are made when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store import make_store

if TYPE_CHECKING:
    from holdfast.store.protocol import Store
    from holdfast_config import Settings

_prepared: tuple[Settings, Store] | None = None


def prepare(settings: Settings) -> None:
    """Make the store of the workers that this process will fork with these settings."""
    global _prepared
    _prepared = settings, make_store(settings.redis)


def store_of(settings: Settings) -> Store:
    """The store of a worker: that of the process that has forked it, or its own; the caller ends it with `aclose`."""
    if _prepared is not None and _prepared[0] is settings:
        return _prepared[1]
    return make_store(settings.redis)
