"""What operators and stewards ask of Redis about lanes: how they stand, their bounds, pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.broker.redis.connection import Role, Value
from holdfast.broker.redis.rows import pairs
from holdfast.core.lanes import Bound, Lanes, LaneState, Rule, Said


class LanesRole(Role):
    async def lanes(self, lanes: Sequence[str]) -> Lanes:
        now_ms, told, rules = await self._run("lanes", *map(self._keys.name, lanes))
        said = _said({name: value.decode(errors="replace") for name, value in pairs(rules)})
        found = sorted((_lane(row, said) for row in told), key=lambda lane: lane.name)
        handlers = {subject: one for (bound, subject), one in said.items() if bound == Bound.NAME}
        return Lanes(now_ms, tuple(found), handlers)

    async def bound(self, rules: Sequence[Rule]) -> int:
        return await self._number("bound", "asked", *self._flat(rules))

    async def declare(self, host: str, rules: Sequence[Rule]) -> int:
        return await self._number("bound", f"set@{host}", *self._flat(rules))

    async def pause_lane(self, lane: str, reason: str) -> bool:
        return await self._word("pause_lane", self._keys.name(lane), reason) == "paused"

    async def resume_lane(self, lane: str) -> bool:
        return await self._word("resume_lane", self._keys.name(lane)) == "resumed"

    def _flat(self, rules: Sequence[Rule]) -> list[Value]:
        flat: list[Value] = []
        for rule in rules:
            subject = rule.subject if rule.bound == Bound.NAME else self._keys.name(rule.subject)
            flat += (str(rule.bound), subject, rule.value)
        return flat


def _said(rules: Mapping[str, str]) -> dict[tuple[str, str], Said]:
    found: dict[tuple[str, str], Said] = {}
    for field in rules:
        who, _, rest = field.partition(":")
        bound, _, subject = rest.partition(":")
        if who in {"asked", "set"}:
            told, _, host = rules.get(f"set:{rest}", "").partition("@")
            found[bound, subject] = Said(rules.get(f"asked:{rest}", ""), told, host)
    return found


def _lane(row: tuple[bytes, int, int, int, int, bytes, bytes], said: Mapping[tuple[str, str], Said]) -> LaneState:
    name, entries, held, running, oldest, paused, closed = row
    lane = name.decode(errors="replace")
    since, _, because = paused.decode(errors="replace").partition(" ")
    bounds = (Bound.LIMIT, Bound.KEYS, Bound.RATE, Bound.END)
    limit, keys, rate, end = (said.get((bound, lane), Said()) for bound in bounds)
    return LaneState(
        name=lane,
        entries=entries,
        held=held,
        running=running,
        oldest_ms=None if oldest < 0 else oldest,
        paused_since_ms=int(since) if since else None,
        paused_because=because,
        closed=closed.decode(),
        limit=limit,
        keys=keys,
        rate=rate,
        end=end,
    )
