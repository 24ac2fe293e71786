"""Opens the store of the storage when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.bindu.held_tasks import HeldTasks
from holdfast.client.submit_retries import SubmitRetries
from holdfast.store import make_store
from holdfast_config import Settings

if TYPE_CHECKING:
    from holdfast.store.protocol import Store

Document = dict[str, Any]

MOST = 1000  # tasks or contexts of one list


def most(length: int | None) -> int:
    """The limit of a list: this length, or the most that may be listed if none or no valid one is given."""
    return MOST if length is None or length <= 0 else min(length, MOST)


class LazyStore:
    """Base class of the parts of the storage. Calls are retried while the store cannot be reached."""

    def __init__(self, settings: Settings, held_tasks: HeldTasks) -> None:
        self._settings, self._held_tasks = settings, held_tasks
        self._opened: Store | None = None
        self._call = SubmitRetries().call

    @property
    def _store(self) -> Store:
        if self._opened is None:
            self._opened = make_store(self._settings.redis, self._settings.postgres)
        return self._opened

    @property
    def store_url(self) -> str:
        """The URL of its store, without a password."""
        return self._settings.redis.masked_url

    def use(self, settings: Settings) -> None:
        """Use these settings instead, while it has no connections."""
        self._settings = settings

    async def close(self) -> None:
        """Close its connections; nothing is deleted. It opens new ones if it is used again."""
        store, self._opened = self._opened, None
        if store is not None:
            await store.aclose()
