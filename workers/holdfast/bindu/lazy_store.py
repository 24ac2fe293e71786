"""The store below the storage, opened when it is first needed."""

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
    """How many a list of this length may hold; none given, or none that is one: all that may be listed."""
    return MOST if length is None or length <= 0 else min(length, MOST)


class LazyStore:
    """What the parts of the storage share. Calls are made again while the store cannot be reached."""

    def __init__(self, settings: Settings, desk: HeldTasks) -> None:
        self._settings, self._desk = settings, desk
        self._opened: Store | None = None
        self._call = SubmitRetries().call

    @property
    def _store(self) -> Store:
        if self._opened is None:
            self._opened = make_store(self._settings.redis, self._settings.postgres)
        return self._opened

    @property
    def store_url(self) -> str:
        """Where it keeps what it has, without a password."""
        return self._settings.redis.masked_url

    def use(self, settings: Settings) -> None:
        """Other settings, while it has no connections: it opens those of the new ones."""
        self._settings = settings

    async def close(self) -> None:
        """Close its connections; nothing is deleted. It opens new ones if it is used again."""
        store, self._opened = self._opened, None
        if store is not None:
            await store.aclose()
