"""The number of keys, as work on all of them asks for it before it begins."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from holdfast.core.store_info import KeyCount
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.lua.namespace import Namespace
from tests.lua.operations import submission
from tests.servers import valkey

pytestmark = pytest.mark.anyio


async def test_keys_of_others_count_for_the_database_alone(short_path: Path) -> None:
    with valkey(short_path) as url:
        async with aclosing(RedisStore(RedisSettings(url, queue="q"))) as store:
            assert await store.key_count() == KeyCount(0, 0)
            await store.submit([submission("t", "q")])
            alone = await store.key_count()
            assert alone.database == alone.queue > 1
            async with aclosing(RedisStore(RedisSettings(url, queue="qx"))) as other:
                await other.submit([submission("t", "qx")])
            both = await store.key_count()
            assert both == KeyCount(2 * alone.database, alone.queue)


async def test_keys_of_a_queue_whose_name_begins_so_are_not_counted(space: Namespace) -> None:
    before = await space.store.key_count()
    foreign = [f"{space.key('')[:-2]}x}}:{number}" for number in range(1000)]
    await space.do("MSET", *(word for key in foreign for word in (key, "")))
    try:
        after = await space.store.key_count()
    finally:
        await space.do("DEL", *foreign)
    assert after.database >= before.database
    assert after.queue < before.queue + 500, "it is an estimate, and others use this server"
