"""The Redis calls about unreadable entries, which were set aside."""

from __future__ import annotations

from holdfast.core.tasks import UnreadableEntry
from holdfast.store.redis import decode
from holdfast.store.redis.part import RedisPart

_PAGE = 50  # entries of up to 64 KiB looked through at once


class RedisUnreadable(RedisPart):
    async def unreadable(self, limit: int) -> list[UnreadableEntry]:
        items = await self._command("LRANGE", self._keys.unreadable, -limit, -1)
        return [decode.unreadable(item) for item in reversed(items)]

    async def unreadable_at(self, address: str) -> UnreadableEntry | None:
        item = await self._find(address)
        return None if item is None else decode.unreadable(item)

    async def readmit(self, address: str) -> str:
        item = await self._find(address)
        return "gone" if item is None else await self._word("readmit", item)

    async def forget_unreadable(self, address: str) -> bool:
        item = await self._find(address)
        return item is not None and await self._command("LREM", self._keys.unreadable, 1, item) == 1

    async def purge_unreadable(self, until_ms: int, limit: int) -> int:
        return await self._number("purge_unreadable", until_ms, limit)

    async def _find(self, address: str) -> bytes | None:
        """The entry as it is kept. While others are taken out it may be missed: ask again."""
        at, start = f"{address.partition('-')[0]}|".encode(), 0
        while items := await self._command("LRANGE", self._keys.unreadable, start, start + _PAGE - 1):
            for item in items:
                if item.startswith(at) and decode.unreadable(item).address == address:
                    found: bytes = item
                    return found
            start += _PAGE
        return None
