"""The handler and the store of a process that forks workers, made before the fork: workers share their memory.

The store has no connection before the fork, because connections are made at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.handler.choose import handler_of
from holdfast.store import make_store

if TYPE_CHECKING:
    from holdfast.handler.handler import Handler
    from holdfast.store import Store
    from holdfast_config import Settings

_prepared: tuple[Settings, Handler, Store] | None = None


def prepare(settings: Settings, handler: Handler) -> None:
    """Make the store of the workers that this process will fork with these settings, and keep it with the handler."""
    global _prepared
    _prepared = settings, handler, make_store(settings.redis)


def of_worker(settings: Settings) -> tuple[Handler, Store]:
    """The handler and the store of a worker: those of the process that forked it, or new ones. The caller ends the
    store with `aclose`. Raises HandlerError."""
    if _prepared is not None and _prepared[0] is settings:
        return _prepared[1:]
    return handler_of(settings), make_store(settings.redis)
