"""The Redis calls about rollups: the figures of each minute, and packed ones of ten minutes, hours and days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from anyio import to_thread

from holdfast.core.rollup import (
    DAY,
    HOUR,
    MINUTE,
    PACKED_BYTES,
    PACKED_KEPT_MS,
    TEN_MINUTES,
    Rollup,
    packed,
    rollup_of,
    unpacked,
)
from holdfast.store.redis.keys import PACKED_NAMES
from holdfast.store.redis.part import RedisPart

_AT_ONCE = {MINUTE: 10, TEN_MINUTES: 60, HOUR: 30, DAY: 8}  # read with one call: about 500 KB and milliseconds at most


class RedisRollups(RedisPart):
    async def minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        found = self.rollups(MINUTE, since_ms, until_ms)
        return {at: rollup async for at, rollup in found if rollup is not None}

    async def rollups(self, length_ms: int, since_ms: int, until_ms: int) -> AsyncIterator[tuple[int, Rollup | None]]:
        first, end, most = since_ms // length_ms, -(-until_ms // length_ms), _AT_ONCE[length_ms]
        for start in range(first, end, most):
            numbers = range(start, min(start + most, end))
            found = await self._read(length_ms, numbers)
            for n in numbers:
                yield n * length_ms, _rollup(length_ms, found[n]) if n in found else None

    async def keep_rollup(self, length_ms: int, start_ms: int, rollup: Rollup) -> bool:
        key = self._keys.packed_rollup(length_ms, start_ms // length_ms)
        text = await to_thread.run_sync(packed, rollup, PACKED_BYTES[length_ms])  # up to a second for very many series
        return await self._command("SET", key, text, "NX", "PX", PACKED_KEPT_MS) is not None

    async def _read(self, length_ms: int, numbers: range) -> dict[int, Any]:
        flat = await self._run("rollups", PACKED_NAMES.get(length_ms, "minutes"), numbers.start, len(numbers))
        return dict(zip(flat[::2], flat[1::2], strict=True))


def _rollup(length_ms: int, found: Any) -> Rollup:
    return rollup_of(zip(found[::2], found[1::2], strict=True)) if length_ms == MINUTE else unpacked(found)
