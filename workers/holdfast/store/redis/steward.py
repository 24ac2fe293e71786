"""The Redis calls of a steward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from holdfast.core.counts import Epoch
from holdfast.core.store_info import LaneHead, Tended
from holdfast.core.worker_records import MAX_CRASHES, HostFacts, Startable
from holdfast.errors import StoreError, StoreRefusedError
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.lanes import look
from holdfast.store.redis.part import RedisPart
from holdfast.store.redis.server_report import info

VOUCHED_AT_ONCE = 1000
TENDED_AT_ONCE = 500  # lanes
MENDED_PAGE, MENDED_AT_ONCE = 1000, 20  # keys looked at in one call, and calls of one round

_pack = msgspec.msgpack.Encoder().encode


class RedisSteward(RedisPart):
    async def vouch(self, incarnations: Sequence[str], host: HostFacts | None = None) -> None:
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
        named = b"" if begun is None else _pack(dict(begun))
        ago = "" if lost_ms is None else lost_ms
        return await self._number("recover", incarnation, cause, int(charged), int(ordered), max_crashes, named, ago)

    async def last_request(self, incarnation: str) -> int:
        return int(await self._command("HGET", self._keys.worker(incarnation), "request") or 0)

    async def take_back(self, incarnation: str, last_request: int, begun: Mapping[str, str]) -> int:
        return await self._number("take_back", incarnation, last_request, _pack(dict(begun)))

    async def reap(self, lease_ms: int, grace_ms: int, max_crashes: int = MAX_CRASHES) -> dict[str, int]:
        answer = await self._run("reap", lease_ms, grace_ms, max_crashes)
        return {name: int(count) for name, count in pairs(answer)}

    async def promote(self, limit: int) -> tuple[int, int | None]:
        promoted, wait = await self._run("promote", limit)
        return promoted, None if wait < 0 else wait

    async def suspects(self, lanes: Sequence[str], workers: Sequence[str] = ()) -> Startable:
        startable, alone = await self._run("suspects", len(workers), *workers, *map(self._keys.name, lanes))
        return Startable(startable, alone)

    async def unserved(self, timeout_ms: int, limit: int) -> int:
        return await self._number("unserved", timeout_ms, limit)

    async def left(self, lanes: Sequence[str]) -> tuple[bool, int | None, int]:
        left, wait, unserved = await self._run("left", *map(self._keys.name, lanes))
        return left == 1, None if wait < 0 else wait, unserved

    async def peek(self, lane: str, timeout: float) -> bytes | None:
        """BLMOVE from the head to the head of the same list: blocks while it is empty and leaves it unchanged."""
        key = self._keys.lane(lane)
        entry: bytes | None = await self._connection.peek(timeout, "BLMOVE", key, key, "LEFT", "LEFT", timeout)
        return entry

    async def ring(self, *lanes: str) -> tuple[int, int]:
        waiting, unrung = await self._run("ring", *map(self._keys.name, lanes))
        return waiting, unrung

    async def mend(self) -> None:
        """Look for keys of the queue with a value of the wrong type, and rebuild a part of them from records."""
        with suppress(StoreRefusedError):  # of a user who may not: others do it
            for _ in range(MENDED_AT_ONCE):
                if (await self._run("mend", MENDED_PAGE))[1] == 0:
                    return

    async def tend(self, lanes: Sequence[str]) -> Tended:
        await self.mend()
        return Tended(*await self._run("tend", *map(self._keys.name, lanes[:TENDED_AT_ONCE])))

    async def look_at_front(self, lane: str, earlier: LaneHead) -> LaneHead:
        return await look(self._connection, self._keys.name(lane), earlier)

    async def note_wrong_end(self, lane: str, front: LaneHead, steward: str) -> int:
        return await self._number("wrong_end", self._keys.name(lane), front.pushed, steward, int(front.turned))

    async def limit_messages(self, most: int) -> None:
        await self._command("HSET", self._keys.meta, "most_pending", most)

    async def audit(self, lane: str, limit: int, cursor: str) -> tuple[int, str]:
        put_back, following = await self._run("audit", self._keys.name(lane), limit, cursor)
        return put_back, following.decode()

    async def wait_alarm(self, timeout: float) -> bool:
        # BRPOP, so that the clients that block in BLPOP are workers and nothing else.
        return await self._block(timeout, "BRPOP", self._keys.alarm, timeout) is not None

    async def run_id(self) -> str:
        report = info(await self._command("INFO", "server"))
        if "run_id" not in report:
            raise StoreError(f"Redis at {self._connection.url} gives no run id")
        return report["run_id"]

    async def epoch(self, known: Epoch, fresh: str) -> Epoch:
        name, tasks, emptied_ago_ms, lost = await self._run("epoch", known.name, fresh, known.tasks)
        return Epoch(name.decode(), tasks, None if emptied_ago_ms < 0 else emptied_ago_ms, lost)

    async def latest(self, seen: str) -> tuple[str, int | None]:
        last, gone_ms = await self._run("latest", seen)
        return last.decode(), None if gone_ms < 0 else gone_ms

    async def clock_ms(self) -> int:
        return await self._number("now")
