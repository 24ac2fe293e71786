"""Examines a Redis server and a queue for an operator. Looks are independent: a refused one hides no other."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from holdfast.core.store_info import (
    AclInfo,
    ClientInfo,
    MemoryInfo,
    PersistenceInfo,
    QueueInfo,
    ServerInfo,
    SlowInfo,
    StoreInfo,
    TimingInfo,
    WorkerInfo,
)
from holdfast.errors import StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.store.redis import decode, server_check
from holdfast.store.redis.admin import RedisAdmin
from holdfast.store.redis.clients import NAME
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.hosts import RedisHosts
from holdfast.store.redis.keys import SCHEMA
from holdfast.store.redis.lanes import RedisLanes, watched
from holdfast.store.redis.part import RedisPart
from holdfast.store.redis.schedules import RedisSchedules
from holdfast.store.redis.scripts import product
from holdfast.store.redis.server_check import missing_rights

PINGS = 50
PINGS_WITHIN = 2.0  # seconds
FIRST_UNDECLARED = 20  # schedules that are listed
FIRST_MEMBERS = 256
FIRST_SLOW = 128

T = TypeVar("T")


class Examination:
    """One examination of the server and the queue behind this connection."""

    def __init__(self, connection: Connection, lanes: Sequence[str]) -> None:
        self._connection = connection
        self._command = connection.command
        self._lanes = lanes
        self._unseen: dict[str, str] = {}

    async def facts(self, watch: float) -> StoreInfo:
        """Examine everything; lanes are watched for `watch` seconds. Raises the errors of `ping`, except for a lack of
        rights."""
        try:
            await self._command("PING")
        except StoreRefusedError as error:
            if "'ping'" not in str(error):  # the user lacks only the right to PING
                raise
        return StoreInfo(
            url=self._connection.url,
            slow=await self._look("slow log", self._slow),  # first: these looks may fill it
            server=await self._look("server", self._server),
            timing=await self._look("timing", self._timing),
            memory=await self._look("memory", self._memory),
            persistence=await self._look("persistence", self._persistence),
            clients=await self._look("clients", self._clients),
            rights=await self._look("rights", self._rights),
            queue=await self._look("queue", lambda: self._queue(watch)),
            unseen=tuple(self._unseen.items()),
        )

    async def _look(self, what: str, look: Callable[[], Awaitable[T]]) -> T | None:
        """The answer of a look. If the store refuses it: None, and the refusal is noted. If the store goes away, the
        examination ends."""
        try:
            return await look()
        except StoreUnavailableError:
            raise
        except StoreError as error:
            self._unseen[what] = str(error)
            return None

    async def _info(self, section: str) -> dict[str, str]:
        return server_check.info(await self._command("INFO", section))

    async def _config(self, *names: str) -> dict[str, str] | None:
        """Settings of the server; None if the server or the user's rights hide them."""
        answer = await self._look("settings", lambda: self._command("CONFIG", "GET", *names))
        return None if answer is None else server_check.settings(answer)

    async def _server(self) -> ServerInfo:
        report = await self._info("server") | await self._info("replication")
        return server_check.server(report, self._connection.found_by, self._connection.address)

    async def _timing(self) -> TimingInfo:
        trips: list[float] = []
        began = time.monotonic()
        while len(trips) < PINGS and time.monotonic() - began < PINGS_WITHIN:
            sent = time.monotonic()
            await self._command("PING")
            trips.append((time.monotonic() - sent) * 1000)
        sent = time.time()
        seconds, microseconds = await self._command("TIME")
        ours = (sent + time.time()) / 2
        return TimingInfo(tuple(trips), (int(seconds) + int(microseconds) / 1e6 - ours) * 1000)

    async def _memory(self) -> MemoryInfo:
        return server_check.memory(await self._info("memory"))

    async def _persistence(self) -> PersistenceInfo:
        return server_check.persistence(await self._info("persistence"), await self._config("appendfsync", "save"))

    async def _slow(self) -> SlowInfo:
        config = await self._config("slowlog-log-slower-than") or {}
        entries = await self._command("SLOWLOG", "GET", FIRST_SLOW)
        seconds, _ = await self._command("TIME")
        scripts = {script.sha: name for name, script in product().items()}
        above = config.get("slowlog-log-slower-than")
        commands = server_check.slow_commands(entries, scripts)
        return SlowInfo(int(seconds) * 1000, None if above is None else int(above), commands)

    async def _clients(self) -> ClientInfo:
        report = await self._info("clients") | await self._info("stats")
        config = await self._config("timeout", "tcp-keepalive") or {}
        listed = await self._look("other clients", lambda: self._command("CLIENT", "LIST"))
        database = str(self._connection.database)
        return ClientInfo(
            connected=int(report.get("connected_clients", 0)),
            most=int(report.get("maxclients", 0)),
            idle_timeout=_number(config.get("timeout")),
            keepalive=_number(config.get("tcp-keepalive")),
            strangers=None if listed is None else server_check.strangers(listed, NAME, database),
            refused=int(report.get("rejected_connections", 0)),
        )

    async def _rights(self) -> AclInfo:
        missing = await missing_rights(self._connection, self._lanes)
        user = await self._look("user", lambda: self._command("ACL", "WHOAMI"))
        return AclInfo((user or b"").decode(), missing, await self._scripts())

    async def _scripts(self) -> str:
        """Load every script: compiling shows whether this server knows our flags. These are the scripts that workers
        load."""
        try:
            await self._connection.load()
        except StoreUnavailableError:
            raise
        except StoreError as error:
            return str(error)
        return ""

    async def _queue(self, watch: float) -> QueueInfo:
        keys = self._connection.keys
        schema: bytes | None
        schema, emptied, lost = await self._command("HMGET", keys.meta, "schema", "emptied", "lost")
        seconds, microseconds = await self._command("TIME")
        now_ms = int(seconds) * 1000 + int(microseconds) // 1000
        beats = dict(pairs(await self._command("ZRANGE", keys.workers, 0, FIRST_MEMBERS - 1, "WITHSCORES")))
        return QueueInfo(
            schema=None if schema is None else schema.decode(errors="replace"),
            our_schema=str(SCHEMA),
            now_ms=now_ms,
            counts=await RedisAdmin(self._connection).counts(),
            members=tuple([await self._member(name, now_ms, float(beat)) for name, beat in beats.items()]),
            lanes=await watched(self._connection, self._lanes, watch),
            states=(await RedisLanes(self._connection).lanes(self._lanes)).lanes,
            quiet=await RedisHosts(self._connection).quiet_hosts(),
            undeclared=await RedisSchedules(self._connection).undeclared_schedules(FIRST_UNDECLARED),
            emptied_ms=int(emptied) if emptied else None,
            lost=int(lost or 0),
        )

    async def _member(self, incarnation: str, now_ms: int, beat_ms: float) -> WorkerInfo:
        worker = self._connection.keys.worker(incarnation)
        fields = await self._command("HMGET", worker, "host", "state", "heartbeat", "vouched", "version", "ahead")
        host, state, beats, vouched, version, ahead = (
            field.decode(errors="replace") if field else "" for field in fields
        )
        return WorkerInfo(
            incarnation,
            host,
            state,
            beats=int(beats or 0),
            beat_ago_ms=max(0, now_ms - int(beat_ms)),
            vouched_ago_ms=now_ms - int(vouched) if vouched else None,
            version=version,
            clock_ahead_ms=int(ahead) if ahead else None,
        )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


# The Redis calls that look at everything.


class RedisInspect(RedisPart):
    """The calls that look at everything; costly."""

    async def snapshot(self) -> dict[str, object]:
        """Every key with type, when it expires (`ttl`: Unix time in ms, -1: never) and content, at one moment."""
        return decode.snapshot(await self._run("snapshot"))

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        """The state of the server and of the queue for an operator; these lanes are watched for `watch` seconds.

        Changes nothing. Raises StoreUnavailableError, or StoreRefusedError if the login fails.
        """
        return await Examination(self.connection, lanes).facts(watch)
