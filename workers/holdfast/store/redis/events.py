"""The Redis calls that read the event stream."""

from __future__ import annotations

from holdfast.core.tasks import Happening, Happenings
from holdfast.store.redis import decode
from holdfast.store.redis.part import RedisPart


class RedisEvents(RedisPart):
    async def events(self, after: str, limit: int, timeout: float = 0.0) -> Happenings:
        if timeout > 0:
            wait = ("COUNT", 1, "BLOCK", max(1, round(timeout * 1000)))
            await self._block(timeout, "XREAD", *wait, "STREAMS", self._keys.events, after or "0-0")
        missed, entries = await self._run("events", after, limit)
        return Happenings(tuple(each for entry in entries for each in decode.happenings(entry)), missed == 1)

    async def events_before(self, position: str, limit: int) -> tuple[Happening, ...]:
        newest = f"({position}" if position else "+"
        entries = await self._command("XREVRANGE", self._keys.events, newest, "-", "COUNT", limit)
        return tuple(each for entry in entries for each in reversed(tuple(decode.happenings(entry))))
