"""The Redis calls about rollups: the figures of each minute, and packed ones of ten minutes."""

from __future__ import annotations

from typing import Any

from holdfast.core.rollup import MINUTE, PACKED_KEPT_MS, TEN_MINUTES, Rollup, packed, rollup_of, unpacked
from holdfast.store.redis.part import RedisPart

_AT_ONCE = {"minutes": 10, "tens": 60}  # read with one call: about 500 KB at most, and milliseconds of the server


class RedisRollups(RedisPart):
    async def minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        found = await self._read("minutes", since_ms // MINUTE, -(-until_ms // MINUTE))
        return {n * MINUTE: rollup_of(zip(flat[::2], flat[1::2], strict=True)) for n, flat in found.items()}

    async def ten_minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        found = await self._read("tens", since_ms // TEN_MINUTES, -(-until_ms // TEN_MINUTES))
        return {n * TEN_MINUTES: unpacked(text) for n, text in found.items()}

    async def pack_rollup(self, start_ms: int) -> bool:
        minutes = await self.minutes(start_ms, start_ms + TEN_MINUTES)
        if not minutes:
            return False
        key = self._keys.packed_rollup(start_ms // TEN_MINUTES)
        return await self._command("SET", key, packed(minutes.values()), "NX", "PX", PACKED_KEPT_MS) is not None

    async def _read(self, kind: str, first: int, end: int) -> dict[int, Any]:
        found = dict[int, Any]()
        step = _AT_ONCE[kind]
        for start in range(first, end, step):
            flat = await self._run("rollups", kind, start, min(step, end - start))
            found |= dict(zip(flat[::2], flat[1::2], strict=True))
        return found
