"""The Redis calls about rollups: the figures of each minute, and packed ones of ten minutes."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.rollup import MINUTE, TEN_MINUTES, Rollup, packed, rollup_of, unpacked
from holdfast.store.redis.part import RedisPart

_PACKED_KEPT = 30 * 86400  # seconds
_AT_ONCE = 32  # packed rollups read with one command: 200 KB at most


class RedisRollups(RedisPart):
    async def minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        found = dict[int, Rollup]()
        for minute in range(since_ms // MINUTE, -(-until_ms // MINUTE)):
            flat = await self._command("HGETALL", self._keys.rollup(minute))
            if flat:
                found[minute * MINUTE] = rollup_of(_pairs(flat))
        return found

    async def ten_minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        found = dict[int, Rollup]()
        windows = range(since_ms // TEN_MINUTES, -(-until_ms // TEN_MINUTES))
        for first in range(0, len(windows), _AT_ONCE):
            some = windows[first : first + _AT_ONCE]
            answers = await self._command("MGET", *map(self._keys.packed_rollup, some))
            found |= {n * TEN_MINUTES: unpacked(text) for n, text in zip(some, answers, strict=True) if text}
        return found

    async def pack_rollup(self, start_ms: int) -> bool:
        minutes = await self.minutes(start_ms, start_ms + TEN_MINUTES)
        if not minutes:
            return False
        key = self._keys.packed_rollup(start_ms // TEN_MINUTES)
        return await self._command("SET", key, packed(minutes.values()), "NX", "EX", _PACKED_KEPT) is not None


def _pairs(flat: Sequence[bytes]) -> zip[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
