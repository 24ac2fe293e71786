"""The progress of the ledger in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.counts import LedgerStatus
from holdfast.core.words import duration
from holdfast.errors import StoreError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask

if TYPE_CHECKING:
    from holdfast.store import Store


def read(session: Session) -> LedgerStatus:
    """Asks both stores. Raises StoreError if one of them is away."""

    async def question(store: Store) -> LedgerStatus:
        assert store.with_ledger is not None
        return await store.with_ledger.ledger()

    return ask(session, question)


def read_or_error(session: Session) -> LedgerStatus | str | None:
    """The same, or the error as text; None if PostgreSQL is not used."""
    if session.settings.postgres is None:
        return None
    try:
        return read(session)
    except StoreError as error:
        return str(error)


def summary(ledger: LedgerStatus) -> str:
    """The progress in one line."""
    behind = f"{duration(ledger.behind_ms / 1000)} behind" if ledger.behind_ms else "up to date"
    lost = f", losses of Redis: {ledger.losses}" if ledger.losses else ""
    waiting = f", requests waiting for Redis: {ledger.waiting}" if ledger.waiting else ""
    return f"ledger {ledger.phase}, {behind}{waiting}{lost}, tasks put back: {ledger.restored}"
