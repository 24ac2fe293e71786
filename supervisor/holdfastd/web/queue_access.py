"""The queue that the pages show: its store, the producer's API on it, and the settings it was opened with."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.store.protocol import Store
from holdfast_config import Settings
from holdfastd.web.redaction import Redaction


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


def queue_of(request: Request) -> QueueAccess:
    """The queue of the application that answers this request."""
    access = request.app.state.access
    assert isinstance(access, QueueAccess)
    return access
