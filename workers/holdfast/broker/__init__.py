"""Stores of tasks behind one port."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.broker.redis import RedisStore
    from holdfast_config import RedisSettings


@asynccontextmanager
async def open_store(settings: RedisSettings) -> AsyncGenerator[RedisStore, None]:
    """A store over Redis; its connections are made when first used and closed at the end."""
    from holdfast.broker.redis import RedisStore

    store = RedisStore(settings)
    try:
        yield store
    finally:
        await store.aclose()
