"""The task whose handler runs here: log lines that are written inside of it name it.

A context variable holds it, so it is known in the handler's coroutines, in the tasks that they start, and in threads
that take the context along.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Protocol


class LoggedTask(Protocol):
    """A task as log lines name it."""

    def log_fields(self) -> Mapping[str, object]: ...


CURRENT: ContextVar[LoggedTask | None] = ContextVar("holdfast_task", default=None)
