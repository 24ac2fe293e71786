"""The port between Holdfast and its stores. Nothing here knows of Redis, Lua or SQL.

Each role that speaks to a store has a protocol of its own, in a file of its name; a store implements them all. Times
are milliseconds of the store's clock where a name ends in `_ms`. Every call is idempotent (by request number, claim or
id), so the caller may repeat one whose answer was lost. A store that cannot be reached raises StoreUnavailableError.
"""

from __future__ import annotations

from typing import Protocol

from holdfast.store.protocol.conversations import ConversationStore
from holdfast.store.protocol.ledger import Ledger
from holdfast.store.protocol.outbox import OutboxStore
from holdfast.store.protocol.producer import ProducerStore
from holdfast.store.protocol.schedules import ScheduleStore
from holdfast.store.protocol.steward import StewardStore
from holdfast.store.protocol.worker import WorkerStore

__all__ = [
    "ConversationStore",
    "Ledger",
    "OutboxStore",
    "ProducerStore",
    "ScheduleStore",
    "StewardStore",
    "Store",
    "WorkerStore",
]


class Store(WorkerStore, StewardStore, ProducerStore, ScheduleStore, OutboxStore, ConversationStore, Protocol):
    """A whole store; `aclose` ends its connections."""

    async def aclose(self) -> None: ...
