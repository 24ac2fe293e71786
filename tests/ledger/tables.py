"""Our tables, as `supervisor db upgrade` makes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import anyio

from holdfast.store.ledger import migrate
from holdfast.store.ledger.database import Database
from holdfast_config.store_settings import PostgresSettings


def make(url: str) -> None:
    with ThreadPoolExecutor(1) as apart:  # an event loop may run in this thread
        apart.submit(anyio.run, _make, url).result()


async def _make(url: str) -> None:
    database = Database(PostgresSettings(url))
    await migrate.upgrade(database)
    await database.aclose()
