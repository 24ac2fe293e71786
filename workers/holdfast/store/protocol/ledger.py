"""The port of a store that PostgreSQL stands behind."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from holdfast.core.tasks import KeptTask, LedgerStatus


@runtime_checkable
class Ledger(Protocol):
    """What a store has besides, where PostgreSQL keeps the tasks, too. LedgerUnavailableError: that one is away."""

    async def keep(self) -> KeptTask:
        """One round of the keeper's work: any steward may do the next one."""
        ...

    async def news(self, seconds: float) -> None:
        """Block until something has happened that was not ingested, at most so many seconds."""
        ...

    async def ledger(self) -> LedgerStatus: ...
