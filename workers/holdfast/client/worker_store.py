"""The store of the worker that runs this code, for handlers that submit tasks themselves.

A worker process has one store for all of its code, threads included. A worker inside another process has its own in the
context of the handlers that it runs.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.protocol import Store
    from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class CurrentStore:
    """`store`: the one in memory, for the event loop of the worker; None: it is to be opened by `settings`."""

    settings: Settings
    store: Store | None = None


_of_context: ContextVar[CurrentStore | None] = ContextVar("holdfast_worker_store", default=None)
_of_process: CurrentStore | None = None


def belong_to_process(settings: Settings, in_memory: Store | None = None) -> None:
    """Make this process a worker with these settings."""
    global _of_process
    _of_process = CurrentStore(settings, in_memory)


def belong_to_context(settings: Settings, store: Store) -> None:
    """Make this context that of a worker with these settings; tasks begun in it inherit it."""
    _of_context.set(CurrentStore(settings, store if settings.scheduler_type == "memory" else None))


def worker_store() -> CurrentStore | None:
    """The store of the worker that runs the caller; None outside of a worker."""
    return _of_context.get() or _of_process
