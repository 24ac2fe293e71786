"""The Redis calls of operators about tasks and workers as a whole, and about their logins to the dashboard."""

from __future__ import annotations

from collections.abc import Collection

from holdfast.core.counts import Counts
from holdfast.core.store_info import KeyCount
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.worker_records import MAX_CRASHES, Stray, StrayCause, Strays, WorkerRecord
from holdfast.store.redis import decode
from holdfast.store.redis.connection import RedisPart

KEYS_SAMPLED = 1000
PAGE_OF_INDEXES = 1000  # keys looked at in one call
MOST_OF_ONE = 100  # logins of one owner to the dashboard


class RedisAdmin(RedisPart):
    """The calls of operators about tasks and workers as a whole. All processes of the dashboard see the same logins."""

    async def counts(self) -> Counts:
        """The queue in numbers: tasks by state, entries by lane, and counts of events since the queue began."""
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
        """All living workers, with the tasks that each runs."""
        now = int((await self._command("TIME"))[0]) * 1000
        beats = dict(decode.pairs(await self._command("ZRANGE", self._keys["workers"], 0, -1, "WITHSCORES")))
        return [await self._worker(incarnation, now - int(float(beat))) for incarnation, beat in beats.items()]

    async def incarnations(self, names: Collection[str]) -> dict[str, WorkerRecord]:
        """The records of these incarnations. Incarnations that the store no longer has are left out; it keeps a dead
        worker's record for a day."""
        now = int((await self._command("TIME"))[0]) * 1000
        records: dict[str, WorkerRecord] = {}
        for name in names:
            beat = await self._command("ZSCORE", self._keys["workers"], name)
            worker = await self._worker(name, now - int(float(beat or now)))
            if worker.state:
                records[name] = worker
        return records

    async def _worker(self, incarnation: str, beat_ago_ms: int) -> WorkerRecord:
        fields = dict(decode.pairs(await self._command("HGETALL", self._keys["worker"] + incarnation)))
        running = await self._command("HKEYS", self._keys.running(incarnation))
        return decode.worker_record(incarnation, fields, running, beat_ago_ms)

    async def peek_entries(self, lane: str, limit: int) -> list[bytes]:
        """The first entries of a lane. They stay in the lane."""
        list_, name = self._keys.lane(lane), self._keys.name(lane)
        if await self._command("SISMEMBER", self._keys["turned"], name):
            behind: list[bytes] = await self._command("LRANGE", list_, -limit, -1)
            return behind[::-1]
        entries: list[bytes] = await self._command("LRANGE", list_, 0, limit - 1)
        return entries

    async def clear(self, lane: str, limit: int) -> int:
        """Cancel waiting tasks, beginning at the head of the lane. Takes at most `limit` entries out of the lane;
        returns the number of these entries (0: the lane is empty)."""
        return await self._number("clear", self._keys.name(lane), limit)

    async def key_count(self) -> KeyCount:
        """The number of all keys in the database, and an estimate of how many of them belong to the queue. Operations
        that read all keys use these numbers to show their progress."""
        size, looked_at, ours = await self._run("key_count", KEYS_SAMPLED)
        return KeyCount(size, -(-size * ours // looked_at) if looked_at else 0)

    async def _put_indexes_back(self) -> None:
        """Rebuild the queue's indexes from the records of tasks, if another program has deleted an index (see
        mend.lua)."""
        _, more = await self._run("mend", PAGE_OF_INDEXES, "again")
        while more:
            _, more = await self._run("mend", PAGE_OF_INDEXES)

    async def strays(
        self, cursor: str, page: int, silence_ms: int, *, put_back: bool, max_crashes: int = MAX_CRASHES
    ) -> Strays:
        """Find working tasks whose owner (the worker that runs them) is dead, unknown, or silent for `silence_ms`.
        Searches the next `page` keys. `cursor`: '' to begin.

        With `put_back` the tasks go back to the heads of their lanes, and no crash is counted for them. Their owners
        are declared dead.
        """
        if put_back and not cursor:
            await self._put_indexes_back()
        following, *rest = await self._run("strays", cursor or "0", page, silence_ms, int(put_back), max_crashes)
        words = [word.decode() for word in rest]
        strays = tuple(map(Stray, words[::3], words[1::3], map(StrayCause, words[2::3])))
        return Strays(strays, "" if following == b"0" else following.decode())

    async def begin_web_session(self, session: str, now_ms: int, until_ms: int) -> None:
        """Keep a login to the dashboard, and delete logins that have expired. If the owner has more than 100 logins,
        those that expire first are deleted. `session`: `OWNER:NAME`; `now_ms` and `until_ms`: by the caller's clock."""
        await self._command("ZREMRANGEBYSCORE", self._keys["web_sessions"], "-inf", now_ms)
        await self._command("ZADD", self._keys["web_sessions"], until_ms, session)
        begun: list[bytes] = await self._command("ZRANGE", self._keys["web_sessions"], 0, -1)
        owner = session.partition(":")[0].encode()
        own = [each for each in begun if each.partition(b":")[0] == owner]
        if surplus := own[:-MOST_OF_ONE]:
            await self._command("ZREM", self._keys["web_sessions"], *surplus)

    async def end_web_session(self, session: str) -> None:
        """Delete the login: the browser is logged out."""
        await self._command("ZREM", self._keys["web_sessions"], session)

    async def has_web_session(self, session: str) -> bool:
        """True while the login exists: it was neither ended nor deleted."""
        return await self._command("ZSCORE", self._keys["web_sessions"], session) is not None
