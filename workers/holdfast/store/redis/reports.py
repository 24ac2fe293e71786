"""The Redis calls that report past events: the event stream, Activity, metrics and rollups.

A rollup has the figures of one minute. A packed rollup has those of ten minutes, an hour or a day.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from anyio import to_thread

from holdfast.core.activity import KEPT, Activity, Happening, Happenings
from holdfast.core.error_kinds import ErrorKind
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
from holdfast.core.store_info import Gauges
from holdfast.store.redis import decode, server_check
from holdfast.store.redis.connection import RedisPart
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.keys import PACKED_NAMES

_AT_ONCE = {MINUTE: 10, TEN_MINUTES: 60, HOUR: 30, DAY: 8}  # read with one call: about 500 KB and milliseconds at most
_FIELDS = ("who", "origin", "change", "subject", "outcome", "related")
_REFUSED = "refused"


class RedisReports(RedisPart):
    """The calls that read the event stream, Activity, metrics and rollups.

    Rollups are named by their start in milliseconds of the store's clock.
    """

    async def events(self, after: str, limit: int, timeout: float = 0.0) -> Happenings:
        """The events after a position ('': from the first kept event on). Waits up to `timeout` seconds until there are
        some. `limit` counts entries of the stream; an entry that names several tasks gives one event for each."""
        if timeout > 0:
            wait = ("COUNT", 1, "BLOCK", max(1, round(timeout * 1000)))
            await self._block(timeout, "XREAD", *wait, "STREAMS", self._keys["events"], after or "0-0")
        missed, entries = await self._run("events", after, limit)
        return Happenings(tuple(each for entry in entries for each in decode.happenings(entry)), missed == 1)

    async def events_before(self, position: str, limit: int) -> tuple[Happening, ...]:
        """The events before a position ('': from the last event back), newest first."""
        newest = f"({position}" if position else "+"
        entries = await self._command("XREVRANGE", self._keys["events"], newest, "-", "COUNT", limit)
        return tuple(each for entry in entries for each in reversed(tuple(decode.happenings(entry))))

    async def report_duty(self, steward: str, ms: int) -> bool:
        """Take or keep, for `ms` milliseconds, the duty to report the queue's metrics. With 0, give the duty up.
        Returns False if another steward has the duty."""
        return await self._number("report_duty", steward, ms) == 1

    async def gauges(self, lease_ms: int) -> Gauges:
        """The numbers that metrics show. A worker counts as silent if it sent no heartbeat for `lease_ms`."""
        now_ms, workers, silent, webhooks, schedules, due_ms = await self._run("gauges", lease_ms)
        memory = server_check.memory(server_check.info(await self._command("INFO", "memory")))
        return Gauges(now_ms, workers, silent, webhooks, schedules, None if due_ms < 0 else due_ms, memory)

    async def minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        """The rollups of minutes that overlap this time, by their start. Minutes without a rollup are left out; the
        store keeps minutes for eight hours."""
        found = self.rollups(MINUTE, since_ms, until_ms)
        return {at: rollup async for at, rollup in found if rollup is not None}

    async def rollups(self, length_ms: int, since_ms: int, until_ms: int) -> AsyncIterator[tuple[int, Rollup | None]]:
        """All rollups of this length (a minute, ten minutes, an hour or a day) that overlap this time: the start in
        milliseconds, and the rollup or None if there is none. Rollups of more than a minute are packed, and kept for
        thirty days."""
        first, end, most = since_ms // length_ms, -(-until_ms // length_ms), _AT_ONCE[length_ms]
        for start in range(first, end, most):
            numbers = range(start, min(start + most, end))
            found = await self._read_rollups(length_ms, numbers)
            for n in numbers:
                yield n * length_ms, _rollup(length_ms, found[n]) if n in found else None

    async def keep_rollup(self, length_ms: int, start_ms: int, rollup: Rollup) -> bool:
        """Keep the packed rollup of a past ten minutes, hour or day. Returns False if the store already has one."""
        key = self._keys.packed_rollup(length_ms, start_ms // length_ms)
        text = await to_thread.run_sync(packed, rollup, PACKED_BYTES[length_ms])  # up to a second for very many series
        return await self._command("SET", key, text, "NX", "PX", PACKED_KEPT_MS) is not None

    async def _read_rollups(self, length_ms: int, numbers: range) -> dict[int, Any]:
        flat = await self._run("rollups", PACKED_NAMES.get(length_ms, "minutes"), numbers.start, len(numbers))
        return dict(zip(flat[::2], flat[1::2], strict=True))

    async def error_kinds(
        self, handler: str | None, since_ms: int, first: int, limit: int, course: tuple[int, int, int] = (0, 1, 0)
    ) -> tuple[int, tuple[ErrorKind, ...]]:
        """The number of kinds of errors of a handler (None: of all handlers) with a failure since `since_ms` (Unix
        time), and a page of these kinds. The kind that failed last comes first; the page begins at the place `first`.
        `course`: begin, end and number of steps of the counts over time."""
        of = (handler or "", int(handler is not None))
        count, *flat = await self._run("error_kinds", *of, since_ms, first, limit, *course)
        found = zip(*(flat[place::7] for place in range(7)), strict=True)
        return count, tuple(kind for kind in (_error_kind(*each) for each in found) if kind)

    async def note_activity(self, activity: Activity) -> None:
        """Keep a change for Activity. The last 10,000 are kept."""
        fields = [part for field in _FIELDS for part in (field, getattr(activity, field))]
        fields += [_REFUSED, "1"] if activity.is_refused else []
        await self._command("XADD", self._keys["activity"], "MAXLEN", "~", KEPT, "*", *fields)

    async def activity_before(self, position: str, limit: int) -> tuple[Activity, ...]:
        """The changes before a position ('': from the last change back), newest first."""
        newest = f"({position}" if position else "+"
        entries = await self._command("XREVRANGE", self._keys["activity"], newest, "-", "COUNT", limit)
        return tuple(_read(entry) for entry in entries)


def _error_kind(
    kind: bytes, flat: Any, last_ms: int, failed: int, dead: int, latest: bytes, course: Any
) -> ErrorKind | None:
    """Decode the facts of a kind of errors. None if somebody has damaged them."""
    facts = {name: value.decode(errors="replace") for name, value in pairs(flat)}
    runs, first_ms = facts.get("runs", "0"), facts.get("first", "")
    type_, place, message = (*facts.get("text", "").split("\n"), "", "", "")[:3]
    if not (type_ and runs.isdigit() and first_ms.isdigit()):
        return None
    name, counts = facts.get("name", ""), (int(runs), int(first_ms), last_ms, failed, dead)
    return ErrorKind(kind.decode(), name, type_, place, message, *counts, latest.decode(), tuple(course))


def _rollup(length_ms: int, found: Any) -> Rollup:
    return rollup_of(zip(found[::2], found[1::2], strict=True)) if length_ms == MINUTE else unpacked(found)


def _read(entry: Any) -> Activity:
    position, flat = entry
    kept = {name: value.decode(errors="replace") for name, value in pairs(flat)}
    texts = {field: kept.get(field, "") for field in _FIELDS}
    return Activity(**texts, is_refused=_REFUSED in kept, position=position.decode())
