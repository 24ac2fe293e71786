"""The store of a process that forks workers, made before the fork: they share its memory, and need not make their own.

It has no connection before the fork, because connections are made at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store import make_store

if TYPE_CHECKING:
    from holdfast.store import Store
    from holdfast_config import Settings

_prepared: tuple[Settings, Store] | None = None


def prepare(settings: Settings) -> None:
    """Make the store of the workers that this process will fork with these settings."""
    global _prepared
    _prepared = settings, make_store(settings.redis)


def store_of(settings: Settings) -> Store:
    """The store of a worker: made by the process that forked it, or a new one. The caller ends it with `aclose`."""
    if _prepared is not None and _prepared[0] is settings:
        return _prepared[1]
    return make_store(settings.redis)
