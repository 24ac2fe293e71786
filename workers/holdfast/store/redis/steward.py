"""The Redis calls of a steward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from holdfast.core.counts import Epoch
from holdfast.core.store_info import LaneHead, Tended
from holdfast.core.worker_records import MAX_CRASHES, HostFacts, Startable
from holdfast.errors import StoreError, StoreRefusedError
from holdfast.store.redis.connection import RedisPart
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.lanes import look
from holdfast.store.redis.server_check import info

VOUCHED_AT_ONCE = 1000
TENDED_AT_ONCE = 500  # lanes
MENDED_PAGE, MENDED_AT_ONCE = 1000, 20  # keys looked at in one call, and calls of one round

_pack = msgspec.msgpack.Encoder().encode


class RedisSteward(RedisPart):
    """The calls of a steward: it puts back the tasks of dead workers, submits delayed tasks, rings bells to wake
    workers, and looks for entries that other programs have removed."""

    async def vouch(self, incarnations: Sequence[str], host: HostFacts | None = None) -> None:
        """Extend the leases of workers that are alive as far as their supervisor knows. `host`: facts about this host
        for the workers' records."""
        facts = (host.clock_ms, host.version) if host else ("", "")
        for first in range(0, len(incarnations), VOUCHED_AT_ONCE):
            await self._run("vouch", *facts, *incarnations[first : first + VOUCHED_AT_ONCE])

    async def recover(
        self,
        incarnation: str,
        cause: str,
        charged: bool,
        *,
        ordered: bool = False,
        max_crashes: int = MAX_CRASHES,
        begun: Mapping[str, str] | None = None,
        lost_ms: int | None = None,
    ) -> int:
        """Declare the incarnation dead and put back its tasks; returns their number. A second call returns 0.
        `charged`: the death counts as a crash of its tasks. `ordered`: an operator's order caused the death, so no task
        becomes a suspect because of it.

        `begun`: the tasks that the worker had begun. Each task comes with the claim under which its handler has ended;
        '' means that the handler still ran, and counts under every claim. A task that the worker had not begun is not
        charged with the death. None: it is unknown which tasks had begun. Then the oldest claims count as begun, as
        many as the worker ran at once. `lost_ms`: how long ago the worker ended; None: since its last heartbeat.
        """
        named = b"" if begun is None else _pack(dict(begun))
        ago = "" if lost_ms is None else lost_ms
        return await self._number("recover", incarnation, cause, int(charged), int(ordered), max_crashes, named, ago)

    async def last_request(self, incarnation: str) -> int:
        """The number of the last `pull` of this worker; 0 if it is unknown."""
        return int(await self._command("HGET", self._keys["worker"] + incarnation, "request") or 0)

    async def take_back(self, incarnation: str, last_request: int, begun: Mapping[str, str]) -> int:
        """Put back the tasks that a silent worker has claimed and not begun; returns their number. `begun`: see
        `recover`.

        Tasks that were claimed by requests after `last_request` stay. The worker must no longer begin tasks of earlier
        claims: see `BegunTasks.is_revoked`. The tasks are charged with no crash and no release.
        """
        return await self._number("take_back", incarnation, last_request, _pack(dict(begun)))

    async def reap(self, lease_ms: int, grace_ms: int, max_crashes: int = MAX_CRASHES) -> dict[str, int]:
        """Recover the workers whose lease had expired in two calls in a row. Returns how many tasks each of these
        workers owned."""
        answer = await self._run("reap", lease_ms, grace_ms, max_crashes)
        return {name: int(count) for name, count in pairs(answer)}

    async def promote(self, limit: int) -> tuple[int, int | None]:
        """Submit delayed tasks that are due. Returns their number, and the milliseconds until the next task is due
        (None: no task is delayed)."""
        promoted, wait = await self._run("promote", limit)
        return promoted, None if wait < 0 else wait

    async def suspects(self, lanes: Sequence[str], workers: Sequence[str] = ()) -> Startable:
        """The number of suspects in these lanes that may start now; this call looks only at a bounded number of
        suspects.

        With `workers`, the incarnations of a pool, only suspects whose handler that pool has are counted.
        """
        startable, alone = await self._run("suspects", len(workers), *workers, *map(self._keys.name, lanes))
        return Startable(startable, alone)

    async def unserved(self, timeout_ms: int, limit: int) -> int:
        """Fail tasks that have waited for `timeout_ms` while no live worker had their handler; returns the number of
        these tasks.

        This call looks at `limit` pairs of lane and handler, and at `limit` tasks of each pair.
        """
        return await self._number("unserved", timeout_ms, limit)

    async def left(self, lanes: Sequence[str]) -> tuple[bool, int | None, int]:
        """Three values: True if a task of these lanes waits, runs or is due; the milliseconds until a delayed task is
        due; the number of tasks whose handler no live worker has. These last tasks do not make the first value True."""
        left, wait, unserved = await self._run("left", *map(self._keys.name, lanes))
        return left == 1, None if wait < 0 else wait, unserved

    async def peek(self, lane: str, timeout: float) -> bytes | None:
        """The first entry of the lane's list. Blocks while the lane is empty, at most `timeout` seconds; then returns
        None."""
        # BLMOVE from the head to the head of the same list leaves it unchanged.
        key = self._keys.lane(lane)
        entry: bytes | None = await self.connection.peek(timeout, "BLMOVE", key, key, "LEFT", "LEFT", timeout)
        return entry

    async def ring(self, *lanes: str) -> tuple[int, int]:
        """Ring the bells of the given lanes that hold entries: each wakes a worker that waits for tasks. Returns the
        number of entries, and the number of lanes that have entries and whose bell was not rung. A bell is not rung if
        no worker has heard the last one yet, or if the lane may start no task now."""
        waiting, unrung = await self._run("ring", *map(self._keys.name, lanes))
        return waiting, unrung

    async def mend(self) -> None:
        """Look for keys of the queue with a value of the wrong type, and rebuild some of them from the records of
        tasks."""
        with suppress(StoreRefusedError):  # of a user who may not: others do it
            for _ in range(MENDED_AT_ONCE):
                if (await self._run("mend", MENDED_PAGE))[1] == 0:
                    return

    async def tend(self, lanes: Sequence[str]) -> Tended:
        """Carry out the orders (cancel, pause, resume) near both ends of these lanes, and remove entries there that no
        task needs. Lanes that a call has looked at within the last half second are left out. If there are very many
        lanes, only the first ones are looked at."""
        await self.mend()
        return Tended(*await self._run("tend", *map(self._keys.name, lanes[:TENDED_AT_ONCE])))

    async def look_at_front(self, lane: str, earlier: LaneHead) -> LaneHead:
        """Look at the front of the lane, and count the foreign entries that were pushed there since the earlier
        look."""
        return await look(self.connection, self._keys.name(lane), earlier)

    async def note_wrong_end(self, lane: str, front: LaneHead, steward: str) -> int:
        """Add to the count of entries that producers pushed at the wrong end of the lane: its front, where tasks are
        taken. All stewards see the same entries, so the store counts only what one steward sees at a time.

        Returns the count since the lane's end was set, or since a day without such entries; 0 if the lane's front was
        changed.
        """
        return await self._number("wrong_end", self._keys.name(lane), front.pushed, steward, int(front.turned))

    async def limit_messages(self, most: int) -> None:
        """Set how many messages may wait for one task; more are refused."""
        await self._command("HSET", self._keys["meta"], "most_pending", most)

    async def audit(self, lane: str, limit: int, cursor: str) -> tuple[int, str]:
        """Put back entries that Holdfast has written and that another program took out of the lane. An entry counts as
        taken out if two calls in a row do not find it. Returns the number of entries put back, and the next cursor."""
        put_back, following = await self._run("audit", self._keys.name(lane), limit, cursor)
        return put_back, following.decode()

    async def wait_alarm(self, timeout: float) -> bool:
        """Block, at most `timeout` seconds, until somebody submits a delayed task that is due earlier than all
        others."""
        # BRPOP, so that the clients that block in BLPOP are workers and nothing else.
        return await self._block(timeout, "BRPOP", self._keys["steward_control"], timeout) is not None

    async def run_id(self) -> str:
        """The server's run id. A new run id means that the server was restarted or replaced. Then expired leases do not
        count for a while."""
        report = info(await self._command("INFO", "server"))
        if "run_id" not in report:
            raise StoreError(f"Redis at {self.connection.url} gives no run id")
        return report["run_id"]

    async def epoch(self, known: Epoch, fresh: str) -> Epoch:
        """The store's present epoch: its life since it was last empty. If the store has none, it gets one with the name
        `fresh`. `known`: the epoch that the caller saw last. A store that comes back empty begins another epoch."""
        name, tasks, emptied_ago_ms, lost = await self._run("epoch", known.name, fresh, known.tasks)
        return Epoch(name.decode(), tasks, None if emptied_ago_ms < 0 else emptied_ago_ms, lost)

    async def latest(self, seen: str) -> tuple[str, int | None]:
        """The id of the last event; the caller passes it as `seen` in the next call. Also, if the store has lost the
        event `seen` but still has older events: how many milliseconds of events are lost at least; otherwise None."""
        last, gone_ms = await self._run("latest", seen)
        return last.decode(), None if gone_ms < 0 else gone_ms
