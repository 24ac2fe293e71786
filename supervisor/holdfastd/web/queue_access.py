"""The queue that the pages show: its store, the producer's API on it, and the settings it was opened with."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.store.protocol import Store
from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class QueueAccess:
    store: Store
    manager: TaskManager
    settings: Settings

    @property
    def queue(self) -> str:
        return self.settings.queue_name


def queue_of(request: Request) -> QueueAccess:
    """The queue of the application that answers this request."""
    access = request.app.state.access
    assert isinstance(access, QueueAccess)
    return access
