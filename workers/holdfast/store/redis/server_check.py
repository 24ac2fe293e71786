"""Checks that a Redis server can be used, and reads its reports on itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.core.store_info import (
    ForeignClient,
    MemoryInfo,
    PersistenceInfo,
    Replica,
    ServerAddress,
    ServerInfo,
    SlowCommand,
)
from holdfast.errors import StoreRefusedError
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.error_mapping import node_of_cluster
from holdfast.store.redis.keys import SCHEMA, Keys
from holdfast.store.redis.part import RedisPart

# Reports of the server: INFO, CLIENT LIST, CONFIG GET.

# Commands that take from a list, or block until they can. Our own clients have our client name.
TAKING = frozenset(
    {"blpop", "brpop", "lpop", "rpop", "blmove", "lmove", "brpoplpush", "rpoplpush", "blmpop", "lmpop", "lrem", "ltrim"}
)

Info = Mapping[str, str]

_REPLICA = re.compile(r"(slave|replica)\d+")


def info(text: bytes) -> dict[str, str]:
    """One section of INFO, or all of it."""
    lines = (line.split(":", 1) for line in text.decode(errors="replace").splitlines() if ":" in line)
    return {name: value for name, value in lines if value}


def settings(answer: Sequence[bytes]) -> dict[str, str]:
    """The answer of CONFIG GET."""
    return {name: value.decode(errors="replace") for name, value in pairs(answer)}


def server(report: Info, found_by: str, address: str) -> ServerInfo:
    """The server's name and version. Valkey reports the Redis version that it is compatible with beside its own."""
    is_valkey = report.get("server_name") == "valkey" or "valkey_version" in report
    return ServerInfo(
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


def _replicas(report: Info) -> Iterator[Replica]:
    """Reads lines such as `slave0:ip=10.0.0.2,port=6379,state=online,offset=56,lag=1`, which only a master has."""
    written = int(report.get("master_repl_offset", 0))
    for name, line in report.items():
        if _REPLICA.fullmatch(name) and "=" in line:
            fields = dict(field.split("=", 1) for field in line.split(",") if "=" in field)
            behind = max(0, written - int(fields.get("offset", 0)))
            address = f"{fields.get('ip', '')}:{fields.get('port', '')}"
            yield Replica(address, fields.get("state", ""), behind, int(fields.get("lag", 0)))


def slow_commands(entries: Sequence[Sequence[Any]], scripts: Mapping[str, str]) -> tuple[SlowCommand, ...]:
    """The entries of SLOWLOG GET: number, Unix time, microseconds, words, …; `scripts`: our operations by their SHA."""
    return tuple(
        SlowCommand(
            int(at) * 1000, int(took) / 1000, _called([word.decode(errors="replace") for word in words], scripts)
        )
        for _, at, took, words, *_ in entries
    )


def _called(words: Sequence[str], scripts: Mapping[str, str]) -> str:
    """The name of the command; for our scripts also the operation. Other words may be secret."""
    name = words[0].upper() if words else ""
    return f"{name} {scripts[words[1]]}" if name == "EVALSHA" and words[1:] and words[1] in scripts else name


def memory(report: Info) -> MemoryInfo:
    policy = report.get("maxmemory_policy", "noeviction")
    used, limit = int(report.get("used_memory", 0)), int(report.get("maxmemory", 0))
    return MemoryInfo(used, limit, policy, int(report.get("used_memory_rss", 0)))


def persistence(report: Info, config: Info | None) -> PersistenceInfo:
    return PersistenceInfo(
        aof=report.get("aof_enabled") == "1",
        fsync=config.get("appendfsync") if config is not None else None,
        save=config.get("save") if config is not None else None,
        aof_write=report.get("aof_last_write_status", "ok"),
        aof_rewrite=report.get("aof_last_bgrewrite_status", "ok"),
        snapshot=report.get("rdb_last_bgsave_status", "ok"),
    )


def strangers(listed: bytes, ours: str, database: str) -> tuple[ForeignClient, ...]:
    """Clients of this database in CLIENT LIST that take from lists and are not named `ours`."""
    found: list[ForeignClient] = []
    for line in listed.decode(errors="replace").splitlines():
        fields = dict(field.split("=", 1) for field in line.split(" ") if "=" in field)
        is_taking = fields.get("cmd", "").lower() in TAKING and fields.get("db") == database
        if is_taking and fields.get("name") != ours:
            idle = int(fields.get("idle", 0))
            found.append(ForeignClient(fields.get("name", ""), fields.get("addr", ""), fields["cmd"].lower(), idle))
    return tuple(found)


# The rights that our user needs: every command that our operations run, inside scripts and outside of them.

Command = tuple[str, ...]

# By the arguments after the key. A script runs with the rights of its caller.
_ON_KEYS: dict[str, Command] = {
    "BLPOP": ("1",),
    "BRPOP": ("1",),
    "DEL": (),
    "EXISTS": (),
    "GET": (),
    "GETRANGE": ("0", "1"),
    "HDEL": ("f",),
    "HEXISTS": ("f",),
    "HGET": ("f",),
    "HGETALL": (),
    "HINCRBY": ("f", "1"),
    "HKEYS": (),
    "HLEN": (),
    "HMGET": ("f",),
    "HSET": ("f", "v"),
    "HSETNX": ("f", "v"),
    "LINDEX": ("0",),
    "LINSERT": ("BEFORE", "v", "v"),
    "LLEN": (),
    "LPOP": (),
    "LPOS": ("v",),
    "LPUSH": ("v",),
    "LRANGE": ("0", "1"),
    "LREM": ("1", "v"),
    "LSET": ("0", "v"),
    "LTRIM": ("0", "1"),
    "PEXPIRE": ("1",),
    "RPOP": (),
    "RPUSH": ("v",),
    "SADD": ("m",),
    "SCARD": (),
    "SET": ("v",),
    "SISMEMBER": ("m",),
    "SMEMBERS": (),
    "SRANDMEMBER": (),
    "SREM": ("m",),
    "SSCAN": ("0",),
    "STRLEN": (),
    "TYPE": (),
    "UNLINK": (),
    "XADD": ("*", "f", "v"),
    "XRANGE": ("-", "+"),
    "XREVRANGE": ("+", "-"),
    "ZADD": ("1", "m"),
    "ZCARD": (),
    "ZCOUNT": ("0", "1"),
    "ZRANDMEMBER": (),
    "ZRANGE": ("0", "1"),
    "ZRANGEBYSCORE": ("0", "1"),
    "ZRANK": ("m",),
    "ZREM": ("m",),
    "ZREMRANGEBYRANK": ("0", "1"),
    "ZREMRANGEBYSCORE": ("0", "1"),
    "ZREVRANK": ("m",),
    "ZSCAN": ("0",),
    "ZSCORE": ("m",),
}
_ON_LANES = ("LINDEX", "LINSERT", "LLEN", "LPOP", "LPOS", "LPUSH", "LRANGE", "LREM", "LSET", "RPOP", "RPUSH")


def needed_rights(keys: Keys, lanes: Sequence[str]) -> Iterator[tuple[str, Command]]:
    """The name of each command, and one call of it for ACL DRYRUN."""
    yield "EVALSHA", ("EVALSHA", "0" * 40, *map(str, keys.declared))
    yield "SCRIPT LOAD", ("SCRIPT", "LOAD", "return 1")
    yield "CLIENT SETNAME", ("CLIENT", "SETNAME", "x")
    yield "INFO", ("INFO", "server")
    yield "TIME", ("TIME",)
    yield "SCAN", ("SCAN", "0")
    yield "PING", ("PING",)
    if keys.in_cluster:
        yield "CLUSTER SLOTS", ("CLUSTER", "SLOTS")
    for name, rest in _ON_KEYS.items():
        yield f"{name} {keys.prefix}*", (name, f"{keys.prefix}x", *rest)
    yield f"RENAME {keys.prefix}*", ("RENAME", f"{keys.prefix}x", f"{keys.prefix}y")
    yield f"ZINTER {keys.prefix}*", ("ZINTER", "2", f"{keys.prefix}x", f"{keys.prefix}y")
    for lane in map(keys.lane, lanes):
        for name in _ON_LANES:
            yield f"{name} {lane}", (name, lane, *_ON_KEYS[name])
        yield f"BLMOVE {lane}", ("BLMOVE", lane, lane, "LEFT", "LEFT", "1")
    channels = keys.done("*")
    yield f"PUBLISH {channels}", ("PUBLISH", keys.done("x"), "v")
    yield f"SUBSCRIBE {channels}", ("SUBSCRIBE", keys.done("x"))
    yield f"PSUBSCRIBE {channels}", ("PSUBSCRIBE", channels)


_OLDEST = (7, 0)
SHOWN = 5  # rights that an error names


async def missing_rights(connection: Connection, lanes: Sequence[str]) -> tuple[str, ...]:
    """The commands for the queue and these lanes that the server's access list refuses to this user."""
    named = dict(needed_rights(connection.keys, lanes))
    words = [word for command in named.values() for word in (str(len(command)), *command)]
    refused: list[int] = await connection.run("allowed", *words)
    names = list(named)
    return tuple(names[place - 1] for place in refused)


class RedisServer(RedisPart):
    """Checks that the server behind a store can be used."""

    async def ping(self) -> None:
        """Return if the server answers."""
        await self._command("PING")

    async def preflight(self, lanes: Sequence[str] = ()) -> None:
        """Return if the server is reachable, new enough, evicts nothing, holds our schema, and allows its user every
        command that is needed for the queue and these lanes.

        Raises StoreUnavailableError or StoreRefusedError.
        """
        await self._command("PING")
        await self._check_server()
        await self._check_rights(lanes or [self._keys.queue])
        await self._check_eviction()
        await self.connection.check_types()
        await self._check_schema()

    def address(self) -> ServerAddress | None:
        """The address of the server in use; None if there is none, or it was not found yet."""
        return self.connection.server

    async def _check_server(self) -> None:
        report = info(await self._command("INFO", "server"))
        version = report.get("redis_version", "0")
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if numbers < _OLDEST:
            raise StoreRefusedError(
                f"Redis at {self.connection.url} is {version}; Redis 7.0 or later, or Valkey, is needed"
            )
        if "cluster" in {report.get("redis_mode"), report.get("server_mode")} and not self.connection.in_cluster:
            raise StoreRefusedError(node_of_cluster(self.connection.url))

    async def _check_rights(self, lanes: Sequence[str]) -> None:
        """Refuse a user without all rights: a missing right would end a script between two of its writes."""
        if missing := await missing_rights(self.connection, lanes):
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise StoreRefusedError(
                f"Redis at {self.connection.url}: its user may not run {', '.join(missing[:SHOWN])}{more}, and "
                "results would be recorded in part; give it these rights: supervisor doctor prints the command"
            )

    async def _check_eviction(self) -> None:
        memory = info(await self._command("INFO", "memory"))
        policy = memory.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            raise StoreRefusedError(
                f"Redis at {self.connection.url} evicts keys (maxmemory-policy {policy}), tasks would vanish; "
                "set maxmemory-policy noeviction"
            )

    async def _check_schema(self) -> None:
        stored: bytes | None = await self._command("HGET", self._keys.meta, "schema")
        if stored is None:  # written only if missing: a store out of memory may still serve
            await self._command("HSETNX", self._keys.meta, "schema", SCHEMA)
            stored = await self._command("HGET", self._keys.meta, "schema")
        schema = (stored or b"").decode(errors="replace")
        if schema != str(SCHEMA):
            raise StoreRefusedError(
                f"queue {self._keys.queue} holds schema {schema!r}, this version needs {SCHEMA}; "
                "run the version that wrote it, or use another queue name"
            )
