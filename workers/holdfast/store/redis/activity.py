"""The Redis calls about the changes that were asked for."""

from __future__ import annotations

from typing import Any

from holdfast.core.activity import KEPT, Activity
from holdfast.store.redis.part import RedisPart

_FIELDS = ("who", "origin", "change", "subject", "outcome", "related")
_REFUSED = "refused"


class RedisActivity(RedisPart):
    async def note_activity(self, activity: Activity) -> None:
        fields = [part for field in _FIELDS for part in (field, getattr(activity, field))]
        fields += [_REFUSED, "1"] if activity.is_refused else []
        await self._command("XADD", self._keys.activity, "MAXLEN", "~", KEPT, "*", *fields)

    async def activity_before(self, position: str, limit: int) -> tuple[Activity, ...]:
        newest = f"({position}" if position else "+"
        entries = await self._command("XREVRANGE", self._keys.activity, newest, "-", "COUNT", limit)
        return tuple(_read(entry) for entry in entries)


def _read(entry: Any) -> Activity:
    position, flat = entry
    kept = {_text(name): _text(value) for name, value in zip(flat[::2], flat[1::2], strict=True)}
    texts = {field: kept.get(field, "") for field in _FIELDS}
    return Activity(**texts, is_refused=_REFUSED in kept, position=_text(position))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
