"""The queue that the pages show: its store, the producer's API on it, and the settings it was opened with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.core.tasks import Page
from holdfast.store.protocol import Store
from holdfast_config import Settings
from holdfastd.web.queue.redaction import Redaction


@dataclass(frozen=True, slots=True)
class QueueAccess:
    store: Store
    manager: TaskManager
    settings: Settings

    @property
    def queue(self) -> str:
        return self.settings.queue_name

    @property
    def redaction(self) -> Redaction:
        """Hides what these settings hide: everything that was written by producers and handlers passes it."""
        return Redaction.of(self.settings.web_redact)

    def reader_of_tasks(self, text: str | None) -> Callable[..., Awaitable[Page]]:
        """Reads pages of tasks, with a text of those that it is in. Hidden values are not searched."""
        if not text:
            return self.manager.list_tasks
        return partial(self.manager.search_tasks, text, shown=self.redaction.value)


def queue_of(request: Request) -> QueueAccess:
    """The queue of the application that answers this request."""
    access = request.app.state.access
    assert isinstance(access, QueueAccess)
    return access
