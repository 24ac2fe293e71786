"""The Redis calls about lanes: their state, limits and pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from holdfast.core.lanes import LaneBound, LaneLimit, Lanes, LaneState, LimitOrder
from holdfast.core.served import ServedLane, ServedLimits, ServedState, strictest
from holdfast.store.redis.connection import Value
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.part import RedisPart

_limits = msgspec.json.Decoder(ServedLimits).decode


class RedisLanes(RedisPart):
    async def lanes(self, lanes: Sequence[str]) -> Lanes:
        now_ms, rows, rules, living = await self._run("lanes", *map(self._keys.name, lanes))
        orders = _orders({name: value.decode(errors="replace") for name, value in pairs(rules)})
        states = sorted((_lane(row, orders) for row in rows), key=lambda lane: lane.name)
        handlers = {subject: one for (bound, subject), one in orders.items() if bound == LaneBound.NAME}
        return Lanes(now_ms, tuple(states), handlers, living)

    async def service(self, places: Sequence[tuple[str, str]]) -> list[ServedState]:
        args = [word for lane, name in places for word in (self._keys.name(lane), name)]
        answers: list[list[Any]] = await self._run("service", *args) if args else []
        return [_service(place, answer) for place, answer in zip(places, answers, strict=True)]

    async def bound(self, rules: Sequence[LaneLimit]) -> int:
        return await self._number("bound", "asked", *self._flat(rules))

    async def declare(self, host: str, rules: Sequence[LaneLimit]) -> int:
        return await self._number("bound", f"set@{host}", *self._flat(rules))

    async def pause_lane(self, lane: str, reason: str) -> bool:
        return await self._word("pause_lane", self._keys.name(lane), reason) == "paused"

    async def resume_lane(self, lane: str) -> bool:
        return await self._word("resume_lane", self._keys.name(lane)) == "resumed"

    def _flat(self, rules: Sequence[LaneLimit]) -> list[Value]:
        flat: list[Value] = []
        for rule in rules:
            subject = rule.subject if rule.bound == LaneBound.NAME else self._keys.name(rule.subject)
            flat += (str(rule.bound), subject, rule.value)
        return flat


def _orders(rules: Mapping[str, str]) -> dict[tuple[str, str], LimitOrder]:
    found: dict[tuple[str, str], LimitOrder] = {}
    for field in rules:
        who, _, rest = field.partition(":")
        bound, _, subject = rest.partition(":")
        if who in {"asked", "set"}:
            value, _, host = rules.get(f"set:{rest}", "").partition("@")
            found[bound, subject] = LimitOrder(rules.get(f"asked:{rest}", ""), value, host)
    return found


def _lane(row: Sequence[Any], orders: Mapping[tuple[str, str], LimitOrder]) -> LaneState:
    name, entries, held, running, oldest, paused, closed, workers, served, missing, wrong_end = row
    lane = name.decode(errors="replace")
    since, _, because = paused.decode(errors="replace").partition(" ")
    bounds = (LaneBound.LIMIT, LaneBound.KEYS, LaneBound.RATE, LaneBound.END)
    limit, keys, rate, end = (orders.get((bound, lane), LimitOrder()) for bound in bounds)
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
        workers=workers,
        served=tuple(ServedLane(*one) for one in msgspec.json.decode(served)),
        missing={handler: int(count) for handler, count in pairs(missing)},
        wrong_end=int(wrong_end.split()[0]) if wrong_end else 0,
        wrong_end_ms=int(wrong_end.split()[1]) if wrong_end else None,
    )


def _readable(texts: Sequence[bytes]) -> list[ServedLimits]:
    """The limits in registered texts; one that somebody has damaged says nothing."""
    limits = list[ServedLimits]()
    for text in texts:
        with suppress(msgspec.DecodeError):
            limits.append(_limits(text))
    return limits


def _service(place: tuple[str, str], answer: Sequence[Any]) -> ServedState:
    living, in_lane, able, first, paused, unserved_ms, of_lane, of_all = answer
    named = [[word.decode(errors="replace") for word in one] for one in first]
    return ServedState(
        *place,
        living=living,
        in_lane=in_lane,
        able=able,
        servers=tuple(f"worker {slot} on {host} (pid {pid})" for host, slot, pid in named),
        paused=paused.decode(errors="replace").partition(" ")[2] if paused else None,
        unserved_ms=None if unserved_ms < 0 else unserved_ms,
        limits=strictest(_readable(of_lane), _readable(of_all)),
    )
