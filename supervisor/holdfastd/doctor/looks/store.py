"""Examining the store, within bounds: one that is away or frozen costs seconds, and one finding."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from holdfast.core.store_info import StoreInfo
from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.store import open_store
from holdfast_config import RedisSettings

WATCH = 1.0  # seconds that lanes are looked at
WITHIN = 15.0  # seconds for all of it


def examine(redis: RedisSettings, lanes: Sequence[str]) -> StoreInfo | StoreError:
    """What it says of itself, or why it says nothing."""
    return anyio.run(_examine, redis, lanes, backend_options={"use_uvloop": True})


async def _examine(redis: RedisSettings, lanes: Sequence[str]) -> StoreInfo | StoreError:
    try:
        with anyio.fail_after(WITHIN):
            async with open_store(redis) as store:
                return await store.examine(lanes, WATCH)
    except StoreError as error:
        return error
    except TimeoutError:
        return StoreUnavailableError(f"Redis at {redis.masked_url} does not answer within {WITHIN:g} s")
