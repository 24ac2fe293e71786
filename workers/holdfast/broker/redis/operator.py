"""What operators ask of Redis: counts, lists, what waits."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.broker.redis import rows
from holdfast.broker.redis.connection import Role
from holdfast.core.facts import StoreFacts
from holdfast.core.records import Counts, Page, TaskRecord, WorkerRecord
from holdfast.core.states import PARKED, TERMINAL, State


class OperatorRole(Role):
    async def counts(self) -> Counts:
        states, lanes, (dead, solo, unreadable, workers, oldest), counters = await self._run("counts", self._keys.queue)
        by_state = dict.fromkeys(State, 0) | {State(name): int(n) for name, n in rows.pairs(states)}
        since_ever = {name: int(n) for name, n in rows.pairs(counters)}
        # Ended tasks are counted as records, and when those are trimmed as trimmed ones: an end costs one write.
        ended = {str(state): by_state[state] + since_ever.get(state, 0) for state in TERMINAL}
        return Counts(
            states=by_state,
            lanes={name: int(length) for name, length in rows.pairs(lanes)},
            dead=dead,
            solo=solo,
            unreadable=unreadable,
            workers=workers,
            oldest_ms=None if oldest < 0 else oldest,
            counters=since_ever | ended,
        )

    async def workers(self) -> list[WorkerRecord]:
        now = int((await self._command("TIME"))[0]) * 1000
        beats = dict(rows.pairs(await self._command("ZRANGE", self._keys.workers, 0, -1, "WITHSCORES")))
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
        fields = dict(rows.pairs(await self._command("HGETALL", self._keys.worker(incarnation))))
        running = await self._command("HKEYS", self._keys.running(incarnation))
        return rows.worker_record(incarnation, fields, running, beat_ago_ms)

    async def _indexes(self, states: Sequence[State]) -> list[str]:
        """The keys that hold ids of these states, each a sorted set or the `running` hash of a worker."""
        keys: list[str] = []
        if State.WORKING in states:
            workers = await self._command("ZRANGE", self._keys.workers, 0, -1)
            keys += [self._keys.running(incarnation.decode()) for incarnation in workers]
        if State.SUBMITTED in states:
            for lanes in (self._keys.sequences, self._keys.heads):
                keys += [self._keys.submitted(lane.decode()) for lane in await self._command("HKEYS", lanes)]
            keys.append(self._keys.submitted(self._keys.queue))
        if State.DELAYED in states:
            keys.append(self._keys.due)
        if PARKED.intersection(states):
            keys.append(self._keys.parked)
        if TERMINAL.intersection(states):
            keys.append(self._keys.finished)
        return list(dict.fromkeys(keys))

    async def _ids(self, key: str, start: int, limit: int) -> list[bytes]:
        if key.endswith(":running"):
            running: list[bytes] = await self._command("HKEYS", key)
            return sorted(running)[start : start + limit]
        newest_first = ["REV"] if key == self._keys.finished else []
        ids: list[bytes] = await self._command("ZRANGE", key, start, start + limit - 1, *newest_first)
        return ids

    async def tasks(self, states: Sequence[State], limit: int, cursor: str = "") -> Page:
        """Tasks index by index; while tasks move between indexes a page may miss or repeat one."""
        states = states or tuple(State)
        indexes = await self._indexes(states)
        index, start = (int(part) for part in cursor.split("-")) if cursor else (0, 0)
        found: list[TaskRecord] = []
        while index < len(indexes):
            ids = await self._ids(indexes[index], start, limit)
            for position, task_id in enumerate(ids):
                if len(found) == limit:
                    return Page(tuple(found), f"{index}-{start + position}")
                record = await self._run("show", task_id, 0)
                task = rows.task_record(task_id.decode(), record) if record else None
                if task and task.state in states:
                    found.append(task)
            index, start = (index, start + limit) if len(ids) == limit else (index + 1, 0)
        return Page(tuple(found), "")

    async def peek_entries(self, lane: str, limit: int) -> list[bytes]:
        entries: list[bytes] = await self._command("LRANGE", self._keys.lane(lane), 0, limit - 1)
        return entries

    async def clear(self, lane: str, limit: int) -> int:
        return await self._number("clear", self._keys.name(lane), limit)

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreFacts:
        from holdfast.broker.redis.examining import Examination  # for operators alone: no child need hold it

        return await Examination(self._connection, self.counts, lanes).facts(watch)

    async def snapshot(self) -> dict[str, object]:
        return rows.snapshot(await self._run("snapshot"))
