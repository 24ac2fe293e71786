"""The store of the worker that runs this code, for handlers that submit tasks themselves.

A worker process has one for all of its code, threads included. Workers inside a process that does other things, too,
have theirs in the context of what they run.
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
    """`store` is the one in memory, for the event loop that the worker runs in; None: to be opened by `settings`."""

    settings: Settings
    store: Store | None = None


_of_context: ContextVar[CurrentStore | None] = ContextVar("holdfast_worker_store", default=None)
_of_process: CurrentStore | None = None


def belong_to_process(settings: Settings, in_memory: Store | None = None) -> None:
    """This process is a worker with these settings."""
    global _of_process
    _of_process = CurrentStore(settings, in_memory)


def belong_to_context(settings: Settings, store: Store) -> None:
    """What begins in this context from now on is run by a worker with these settings."""
    _of_context.set(CurrentStore(settings, store if settings.scheduler_type == "memory" else None))


def worker_store() -> CurrentStore | None:
    """The store of the worker that runs the caller; None outside of a worker."""
    return _of_context.get() or _of_process
