"""What operators ask of Redis: counts, lists, what waits."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.core.store_info import StoreInfo
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Counts, Obliterated, Page, Wanted, WorkerRecord
from holdfast.store.redis import decode, pages
from holdfast.store.redis.connection import Role, given


class RedisAdmin(Role):
    async def counts(self) -> Counts:
        states, lanes, (dead, solo, unreadable, workers, oldest), counters = await self._run("counts", self._keys.queue)
        by_state = dict.fromkeys(State, 0) | {State(name): int(n) for name, n in decode.pairs(states)}
        since_ever = {name: int(n) for name, n in decode.pairs(counters)}
        # Ended tasks are counted as records, and when those are trimmed as trimmed ones: an end costs one write.
        ended = {str(state): by_state[state] + since_ever.get(state, 0) for state in TERMINAL}
        return Counts(
            states=by_state,
            lanes={name: int(length) for name, length in decode.pairs(lanes)},
            dead=dead,
            solo=solo,
            unreadable=unreadable,
            workers=workers,
            oldest_ms=None if oldest < 0 else oldest,
            counters=since_ever | ended,
        )

    async def workers(self) -> list[WorkerRecord]:
        now = int((await self._command("TIME"))[0]) * 1000
        beats = dict(decode.pairs(await self._command("ZRANGE", self._keys.workers, 0, -1, "WITHSCORES")))
        return [await self._worker(incarnation, now - int(float(beat))) for incarnation, beat in beats.items()]

    async def incarnations(self, names: Collection[str]) -> dict[str, WorkerRecord]:
        now = int((await self._command("TIME"))[0]) * 1000
        found: dict[str, WorkerRecord] = {}
        for name in names:
            beat = await self._command("ZSCORE", self._keys.workers, name)
            worker = await self._worker(name, now - int(float(beat or now)))
            if worker.state:
                found[name] = worker
        return found

    async def _worker(self, incarnation: str, beat_ago_ms: int) -> WorkerRecord:
        fields = dict(decode.pairs(await self._command("HGETALL", self._keys.worker(incarnation))))
        running = await self._command("HKEYS", self._keys.running(incarnation))
        return decode.worker_record(incarnation, fields, running, beat_ago_ms)

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        older, newer = (given(ms) for ms in (wanted.older_ms, wanted.newer_ms))
        lane = self._keys.name(wanted.lane) if wanted.lane else ""
        states = wanted.states or tuple(State)
        begin = pages.read_cursor(cursor)
        return pages.page(await self._run("list", begin, limit, lane, wanted.name, older, newer, *states))

    async def peek_entries(self, lane: str, limit: int) -> list[bytes]:
        list_, name = self._keys.lane(lane), self._keys.name(lane)
        if await self._command("SISMEMBER", self._keys.turned, name):
            behind: list[bytes] = await self._command("LRANGE", list_, -limit, -1)
            return behind[::-1]
        entries: list[bytes] = await self._command("LRANGE", list_, 0, limit - 1)
        return entries

    async def clear(self, lane: str, limit: int) -> int:
        return await self._number("clear", self._keys.name(lane), limit)

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        return await self._number("forget_tasks", *task_ids)

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        following, number = await self._run("obliterate", cursor or "0", page, int(force))
        if following == b"busy":
            return Obliterated(0, "", number)
        return Obliterated(number, "" if following == b"0" else following.decode())

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        from holdfast.store.redis.inspect import Examination  # for operators alone: no child need hold it

        return await Examination(self._connection, self.counts, lanes).facts(watch)

    async def snapshot(self) -> dict[str, object]:
        return decode.snapshot(await self._run("snapshot"))
