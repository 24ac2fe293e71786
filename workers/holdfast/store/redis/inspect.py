"""The Redis calls that look at everything."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.store_info import StoreInfo
from holdfast.store.redis import decode
from holdfast.store.redis.part import RedisPart


class RedisInspect(RedisPart):
    async def snapshot(self) -> dict[str, object]:
        return decode.snapshot(await self._run("snapshot"))

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        from holdfast.store.redis.examination import Examination  # only operators need it

        return await Examination(self._connection, lanes).facts(watch)
