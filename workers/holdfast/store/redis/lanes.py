"""The Redis calls about lanes: their state, limits and pauses, and the entries of lanes that were set aside."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
import msgspec

from holdfast.core.lanes import LaneBound, LaneLimit, Lanes, LaneState, LimitOrder, Readmitted, UnreadableEntry
from holdfast.core.store_info import LaneHead, LaneInfo
from holdfast.core.worker_records import ServedLane, ServedLimits, ServedState, strictest
from holdfast.store.redis import decode
from holdfast.store.redis.connection import Connection, RedisPart, Value
from holdfast.store.redis.decode import pairs

DEPTHS_KEPT = 1440  # notes of depths, one a minute: about a day
MOST_DEPTHS = 100  # lanes of a note: at most some 3 KB
DEPTH_EVERY_MS = 30_000  # all stewards note depths; a note that is younger suffices
_PAGE = 50  # unreadable entries of up to 64 KiB looked through at once

_limits = msgspec.json.Decoder(ServedLimits).decode
_pack = msgspec.msgpack.Encoder().encode
_depths = msgspec.msgpack.Decoder(dict[str, int]).decode


class RedisLanes(RedisPart):
    """The calls about lanes: their state, limits and pauses, and unreadable entries, which were set aside."""

    async def lanes(self, lanes: Sequence[str]) -> Lanes:
        """The state of lanes: the given ones, all lanes that ever had tasks, and lanes that have limits or are
        paused."""
        now_ms, rows, rules, living = await self._run("lanes", *map(self._keys.name, lanes))
        orders = _orders({name: value.decode(errors="replace") for name, value in pairs(rules)})
        states = sorted((_lane(row, orders) for row in rows), key=lambda lane: lane.name)
        handlers = {subject: one for (bound, subject), one in orders.items() if bound == LaneBound.NAME}
        return Lanes(now_ms, tuple(states), handlers, living)

    async def note_depths(self) -> None:
        """Record how many tasks wait in each lane. Only the fullest lanes are noted, and no empty ones."""
        key, found = self._keys["depths"], await self.lanes([])
        if await self._command("XRANGE", key, found.now_ms - DEPTH_EVERY_MS, "+", "COUNT", 1):
            return
        filled = [lane for lane in found.lanes if lane.waiting]
        fullest = heapq.nlargest(MOST_DEPTHS, filled, key=lambda lane: lane.waiting)
        note = _pack({lane.name: lane.waiting for lane in fullest})
        await self._command("XADD", key, "MAXLEN", "~", DEPTHS_KEPT, "*", "depths", note)

    async def depths(self, since_ms: int) -> list[tuple[int, dict[str, int]]]:
        """The numbers of waiting tasks that `note_depths` has noted since this Unix time, oldest first: the time of
        each note, and the number by lane."""
        entries = await self._command("XRANGE", self._keys["depths"], max(0, since_ms), "+")
        return [(_noted_ms(entry), _depths(entry[1][1])) for entry in entries]

    async def service(self, places: Sequence[tuple[str, str]]) -> list[ServedState]:
        """For each pair of a lane and a handler's name ('' for tasks that name none): the workers that could run such
        tasks."""
        args = [word for lane, name in places for word in (self._keys.name(lane), name)]
        answers: list[list[Any]] = await self._run("service", *args) if args else []
        return [_service(place, answer) for place, answer in zip(places, answers, strict=True)]

    async def bound(self, rules: Sequence[LaneLimit]) -> int:
        """Set limits of an operator, which count instead of the limits in the settings. Returns the number of limits
        that changed."""
        return int(await self._change_setting("bound", "asked", *self._limits(rules)))

    async def declare(self, host: str, rules: Sequence[LaneLimit]) -> int:
        """Register all limits in the settings of this host. Limits that the host has registered before, and that its
        settings no longer have, are removed. Returns the number of limits that changed."""
        # by `_run`: a ledger does not keep them, because the host's steward sets them again when it starts
        return await self._number("bound", f"set@{host}", *self._limits(rules))

    async def pause_lane(self, lane: str, reason: str) -> bool:
        """Pause a lane: no task of it starts on any host, but it still accepts tasks. Returns False if it was paused
        before."""
        return bool(await self._change_setting("pause_lane", self._keys.name(lane), reason) == b"paused")

    async def resume_lane(self, lane: str) -> bool:
        """Resume a lane. False: it was not paused."""
        return bool(await self._change_setting("resume_lane", self._keys.name(lane)) == b"resumed")

    async def unreadable(self, limit: int) -> list[UnreadableEntry]:
        """The entries that were set aside, newest first."""
        items = await self._command("LRANGE", self._keys["unreadable"], -limit, -1)
        return [decode.unreadable(item) for item in reversed(items)]

    async def unreadable_at(self, address: str) -> UnreadableEntry | None:
        """The entry with this address; None if it is gone."""
        item = await self._find(address)
        return None if item is None else decode.unreadable(item)

    async def readmit(self, address: str) -> Readmitted:
        """Put an entry back into its lane."""
        item = await self._find(address)
        return Readmitted.GONE if item is None else Readmitted(await self._word("readmit", item))

    async def forget_unreadable(self, address: str) -> bool:
        """Delete one entry. False: it was gone."""
        item = await self._find(address)
        return item is not None and await self._command("LREM", self._keys["unreadable"], 1, item) == 1

    async def purge_unreadable(self, until_ms: int, limit: int) -> int:
        """Delete at most `limit` entries that were set aside up to this moment, oldest first; returns their number."""
        return await self._number("purge_unreadable", until_ms, limit)

    async def _find(self, address: str) -> bytes | None:
        """The entry as stored; None if it was not found. If other entries are removed during this search, it may miss
        the entry; a caller then searches again."""
        at, start = f"{address.partition('-')[0]}|".encode(), 0
        while items := await self._command("LRANGE", self._keys["unreadable"], start, start + _PAGE - 1):
            for item in items:
                if item.startswith(at) and decode.unreadable(item).address == address:
                    found: bytes = item
                    return found
            start += _PAGE
        return None

    def _limits(self, rules: Sequence[LaneLimit]) -> list[Value]:
        flat: list[Value] = []
        for rule in rules:
            subject = rule.subject if rule.bound == LaneBound.NAME else self._keys.name(rule.subject)
            flat += (str(rule.bound), subject, rule.value)
        return flat


def _noted_ms(entry: Sequence[Any]) -> int:
    return int(entry[0].partition(b"-")[0])


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
    """The limits in these texts, which workers have registered; damaged texts are left out."""
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


# Watches the heads of lanes for a moment, to see from which end they are filled.

LOOKS = 4


async def look(connection: Connection, lane: str, earlier: LaneHead) -> LaneHead:
    """Look at the front of a lane, and compare it with an earlier look. `lane`: the lane's name in the store."""
    kind, length, first, second, pushed, suspects, turned, before = await connection.run(
        "glance", lane, earlier.first, earlier.second, *earlier.before
    )
    return LaneHead(kind.decode(), length, first, second, pushed, suspects, turned == 1, tuple(before))


async def watched(connection: Connection, lanes: Sequence[str], seconds: float) -> tuple[LaneInfo, ...]:
    """Watch the lanes for this many seconds (0: one look), and compare each look with the one before. Returns the state
    of the lanes."""
    heads, pushed = dict.fromkeys(lanes, LaneHead()), set[str]()
    for left in reversed(range(LOOKS if seconds else 1)):
        for lane, earlier in heads.items():
            head = heads[lane] = await look(connection, connection.keys.name(lane), earlier)
            if head.pushed:
                pushed.add(lane)
        if left:
            await anyio.sleep(seconds / (LOOKS - 1))
    return tuple(
        LaneInfo(lane, head.kind, head.length, lane in pushed, head.suspects, head.turned)
        for lane, head in heads.items()
    )
