"""Examines a Redis server and a queue for an operator. Each value is asked for separately, so a refused question hides
no other value."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from holdfast.core import store_info
from holdfast.errors import StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.store.redis import decode
from holdfast.store.redis.admin import RedisAdmin
from holdfast.store.redis.clients import NAME
from holdfast.store.redis.connection import Connection, RedisPart
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.hosts import RedisHosts
from holdfast.store.redis.keys import SCHEMA
from holdfast.store.redis.lanes import RedisLanes, watched
from holdfast.store.redis.schedules import RedisSchedules
from holdfast.store.redis.scripts import product
from holdfast.store.redis.server_check import Info, info, memory, missing_rights

PINGS = 50
PINGS_WITHIN = 2.0  # seconds
FIRST_UNDECLARED = 20  # schedules that are listed
FIRST_MEMBERS = 256
FIRST_SLOW = 128

T = TypeVar("T")

# Commands that take from a list, or block until they can. Our own clients have our client name.
TAKING = frozenset(
    {"blpop", "brpop", "lpop", "rpop", "blmove", "lmove", "brpoplpush", "rpoplpush", "blmpop", "lmpop", "lrem", "ltrim"}
)

_REPLICA = re.compile(r"(slave|replica)\d+")


def server(report: Info, found_by: str, address: str) -> store_info.ServerInfo:
    """The server's name and version. Valkey reports two versions: its own, and the version of Redis that it is
    compatible with."""
    is_valkey = report.get("server_name") == "valkey" or "valkey_version" in report
    return store_info.ServerInfo(
        engine="valkey" if is_valkey else "redis",
        version=report.get("valkey_version" if is_valkey else "redis_version", "0"),
        mode=report.get("server_mode") or report.get("redis_mode", "standalone"),
        role=report.get("role", "master"),
        found_by=found_by,
        address=address,
        replicas=int(report.get("connected_slaves", 0)),
        careful="min_slaves_good_slaves" in report,  # reported only if it is configured
        followers=tuple(_replicas(report)),
    )


def _replicas(report: Info) -> Iterator[store_info.Replica]:
    """Reads lines such as `slave0:ip=10.0.0.2,port=6379,state=online,offset=56,lag=1`, which only a master has."""
    written = int(report.get("master_repl_offset", 0))
    for name, line in report.items():
        if _REPLICA.fullmatch(name) and "=" in line:
            fields = dict(field.split("=", 1) for field in line.split(",") if "=" in field)
            behind = max(0, written - int(fields.get("offset", 0)))
            address = f"{fields.get('ip', '')}:{fields.get('port', '')}"
            yield store_info.Replica(address, fields.get("state", ""), behind, int(fields.get("lag", 0)))


def persistence(report: Info, config: Mapping[str, str | None] | None) -> store_info.PersistenceInfo:
    """How the server writes to disk. `config`: its settings; None if they are hidden."""
    config = config or {}
    return store_info.PersistenceInfo(
        aof=report.get("aof_enabled") == "1",
        fsync=config.get("appendfsync"),
        save=config.get("save"),
        aof_write=report.get("aof_last_write_status", "ok"),
        aof_rewrite=report.get("aof_last_bgrewrite_status", "ok"),
        snapshot=report.get("rdb_last_bgsave_status", "ok"),
    )


def slow_commands(entries: Sequence[Sequence[Any]], scripts: Mapping[str, str]) -> tuple[store_info.SlowCommand, ...]:
    """The entries of SLOWLOG GET: number, Unix time, microseconds, words, …; `scripts`: Holdfast's operations by their
    SHA."""
    return tuple(
        store_info.SlowCommand(
            int(at) * 1000, int(took) / 1000, _called([word.decode(errors="replace") for word in words], scripts)
        )
        for _, at, took, words, *_ in entries
    )


def _called(words: Sequence[str], scripts: Mapping[str, str]) -> str:
    """The name of the command; for a script of Holdfast also the operation. Other words are left out, because they may
    be secret."""
    name = words[0].upper() if words else ""
    return f"{name} {scripts[words[1]]}" if name == "EVALSHA" and words[1:] and words[1] in scripts else name


def replay_lacks(user: Sequence[Any] | None) -> tuple[str, ...]:
    """The rights to all commands and all keys, as far as this answer to ACL GETUSER lacks them. None: not known."""
    if user is None:
        return ()
    rights: dict[bytes, Any] = dict(zip(user[::2], user[1::2], strict=True))
    return tuple(
        right for part, right in ((b"commands", "+@all"), (b"keys", "~*")) if right.encode() not in rights[part].split()
    )


def strangers(listed: bytes, ours: str, database: str) -> tuple[store_info.ForeignClient, ...]:
    """The clients in CLIENT LIST that use this database, take entries from lists, and are not named `ours`."""
    found: list[store_info.ForeignClient] = []
    for line in listed.decode(errors="replace").splitlines():
        fields = dict(field.split("=", 1) for field in line.split(" ") if "=" in field)
        is_taking = fields.get("cmd", "").lower() in TAKING and fields.get("db") == database
        if is_taking and fields.get("name") != ours:
            idle = int(fields.get("idle", 0))
            found.append(
                store_info.ForeignClient(fields.get("name", ""), fields.get("addr", ""), fields["cmd"].lower(), idle)
            )
    return tuple(found)


class Examination(RedisAdmin, RedisLanes, RedisHosts, RedisSchedules):
    """One examination of the server and the queue behind this connection."""

    def __init__(self, connection: Connection, lanes: Sequence[str]) -> None:
        super().__init__(connection)
        self._lanes = lanes
        self._unseen: dict[str, str] = {}

    async def facts(self, watch: float) -> store_info.StoreInfo:
        """Examine everything; the lanes are watched for `watch` seconds. Raises the same errors as `ping`. If the user
        lacks a right, the value is missing in the report and no error is raised."""
        try:
            await self._command("PING")
        except StoreRefusedError as error:
            if "'ping'" not in str(error):  # the user lacks only the right to PING
                raise
        slow = await self._look("slow log", self._slow)  # first: these looks may fill it
        report = await self._look("server", self._report)
        return store_info.StoreInfo(
            url=self.connection.url,
            slow=slow,
            server=None if report is None else self._server(report),
            timing=await self._look("timing", self._timing),
            memory=None if report is None else memory(report),
            persistence=None if report is None else persistence(report, await self._config("appendfsync", "save")),
            clients=None if report is None else await self._clients(report),
            rights=await self._look("rights", self._rights),
            queue=await self._look("queue", lambda: self._queue(watch)),
            unseen=tuple(self._unseen.items()),
        )

    async def since(self, earlier: store_info.StoreInfo) -> store_info.StoreInfo:
        """Examine again the parts that change from one moment to the next. The other parts are taken from `earlier`, an
        earlier examination."""
        report = await self._look("server", self._report)
        queue = await self._look("queue", lambda: self._queue(0.0))
        kept = {part: why for part, why in earlier.unseen if part not in ("server", "queue")}
        now = replace(earlier, queue=queue, unseen=tuple((kept | self._unseen).items()))
        if report is None:
            return replace(now, server=None, memory=None, persistence=None)
        known = earlier.persistence
        settings = None if known is None else {"appendfsync": known.fsync, "save": known.save}
        return replace(
            now, server=self._server(report), memory=memory(report), persistence=persistence(report, settings)
        )

    async def _look(self, what: str, look: Callable[[], Awaitable[T]]) -> T | None:
        """The answer to one question. If the store refuses to answer, returns None and notes the refusal. If the store
        goes away, the examination ends with an error."""
        try:
            return await look()
        except StoreUnavailableError:
            raise
        except StoreError as error:
            self._unseen[what] = str(error)
            return None

    async def _report(self) -> Info:
        return info(await self._command("INFO"))

    async def _config(self, *names: str) -> dict[str, str] | None:
        """Settings of the server; None if the server does not show them to this user."""
        answer = await self._look("settings", lambda: self._command("CONFIG", "GET", *names))
        return None if answer is None else {name: value.decode(errors="replace") for name, value in pairs(answer)}

    def _server(self, report: Info) -> store_info.ServerInfo:
        return server(report, self.connection.found_by, self.connection.address)

    async def _timing(self) -> store_info.TimingInfo:
        trips: list[float] = []
        began = time.monotonic()
        while len(trips) < PINGS and time.monotonic() - began < PINGS_WITHIN:
            sent = time.monotonic()
            await self._command("PING")
            trips.append((time.monotonic() - sent) * 1000)
        sent = time.time()
        seconds, microseconds = await self._command("TIME")
        ours = (sent + time.time()) / 2
        return store_info.TimingInfo(tuple(trips), (int(seconds) + int(microseconds) / 1e6 - ours) * 1000)

    async def _slow(self) -> store_info.SlowInfo:
        config = await self._config("slowlog-log-slower-than") or {}
        entries = await self._command("SLOWLOG", "GET", FIRST_SLOW)
        seconds, _ = await self._command("TIME")
        scripts = {script.sha: name for name, script in product().items()}
        above = config.get("slowlog-log-slower-than")
        commands = slow_commands(entries, scripts)
        return store_info.SlowInfo(int(seconds) * 1000, None if above is None else int(above), commands)

    async def _clients(self, report: Info) -> store_info.ClientInfo:
        config = await self._config("timeout", "tcp-keepalive") or {}
        listed = await self._look("other clients", lambda: self._command("CLIENT", "LIST"))
        database = str(self.connection.database)
        return store_info.ClientInfo(
            connected=int(report.get("connected_clients", 0)),
            most=int(report.get("maxclients", 0)),
            idle_timeout=_number(config.get("timeout")),
            keepalive=_number(config.get("tcp-keepalive")),
            strangers=None if listed is None else strangers(listed, NAME, database),
            refused=int(report.get("rejected_connections", 0)),
        )

    async def _rights(self) -> store_info.AclInfo:
        missing = await missing_rights(self.connection, self._lanes)
        user = await self._look("user", lambda: self._command("ACL", "WHOAMI"))
        default = await self._look("user default", lambda: self._command("ACL", "GETUSER", "default"))
        return store_info.AclInfo((user or b"").decode(), missing, await self._scripts(), replay_lacks(default))

    async def _scripts(self) -> str:
        """Load every script that workers use. This shows whether the server can compile them and knows their flags."""
        try:
            await self.connection.load()
        except StoreUnavailableError:
            raise
        except StoreError as error:
            return str(error)
        return ""

    async def _queue(self, watch: float) -> store_info.QueueInfo:
        now_ms, schema, emptied, lost, members = await self._run("members", FIRST_MEMBERS)
        return store_info.QueueInfo(
            schema=schema.decode(errors="replace") or None,
            our_schema=str(SCHEMA),
            now_ms=now_ms,
            counts=await self.counts(),
            members=tuple(_member([field.decode(errors="replace") for field in one], now_ms) for one in members),
            lanes=await watched(self.connection, self._lanes, watch),
            states=(await self.lanes(self._lanes)).lanes,
            quiet=await self.quiet_hosts(),
            undeclared=await self.undeclared_schedules(FIRST_UNDECLARED),
            emptied_ms=int(emptied) if emptied else None,
            lost=int(lost or 0),
        )


def _member(fields: Sequence[str], now_ms: int) -> store_info.WorkerInfo:
    incarnation, beat_ms, host, state, beats, vouched, version, ahead = fields
    return store_info.WorkerInfo(
        incarnation,
        host,
        state,
        beats=int(beats or 0),
        beat_ago_ms=max(0, now_ms - int(float(beat_ms))),
        vouched_ago_ms=now_ms - int(vouched) if vouched else None,
        version=version,
        clock_ahead_ms=int(ahead) if ahead else None,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


# The Redis calls that look at everything.


class RedisInspect(RedisPart):
    """The calls that look at the whole queue. They are slow."""

    async def snapshot(self) -> dict[str, object]:
        """Every key of the queue with its type, its content, and the time at which it expires (`ttl`: Unix time in ms;
        -1: never), all at one moment."""
        return decode.snapshot(await self._run("snapshot"))

    async def examine(self, lanes: Sequence[str], watch: float) -> store_info.StoreInfo:
        """The state of the server and of the queue for an operator; these lanes are watched for `watch` seconds.

        Changes nothing. Raises StoreUnavailableError, or StoreRefusedError if the login fails.
        """
        return await Examination(self.connection, lanes).facts(watch)

    async def examine_again(self, lanes: Sequence[str], earlier: store_info.StoreInfo) -> store_info.StoreInfo:
        """Examine again with a handful of commands. Parts that change slowly are taken from an earlier examination."""
        return await Examination(self.connection, lanes).since(earlier)
