"""The Redis calls about the handlers that workers publish: a hash, by their names."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.published_handlers import PublishedHandler, read_published, spelled
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.part import RedisPart


class RedisHandlers(RedisPart):
    async def publish_handlers(self, handlers: Sequence[PublishedHandler]) -> None:
        fields = [part for handler in handlers for part in (handler.name, spelled(handler))]
        if fields:
            await self._command("HSET", self._keys.published, *fields)

    async def published_handler(self, name: str) -> PublishedHandler | None:
        text = await self._command("HGET", self._keys.published, name)
        return None if text is None else read_published(text)

    async def published_handlers(self) -> tuple[PublishedHandler, ...]:
        found = pairs(await self._command("HGETALL", self._keys.published))
        read = [handler for _, text in found if (handler := read_published(text))]
        return tuple(sorted(read, key=lambda handler: handler.name))
