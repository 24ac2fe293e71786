"""Checks that a Redis server can be used, and reads its reports on itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from holdfast.core.store_info import MemoryInfo, ServerAddress
from holdfast.errors import StoreRefusedError
from holdfast.store.redis.connection import Connection, RedisPart
from holdfast.store.redis.error_mapping import node_of_cluster
from holdfast.store.redis.keys import SCHEMA, Keys

# Reports of the server: INFO, CLIENT LIST, CONFIG GET.

Info = Mapping[str, str]


def info(text: bytes) -> dict[str, str]:
    """The fields of an answer to the command INFO, by their names."""
    lines = (line.split(":", 1) for line in text.decode(errors="replace").splitlines() if ":" in line)
    return {name: value for name, value in lines if value}


def memory(report: Info) -> MemoryInfo:
    policy = report.get("maxmemory_policy", "noeviction")
    used, limit = int(report.get("used_memory", 0)), int(report.get("maxmemory", 0))
    return MemoryInfo(used, limit, policy, int(report.get("used_memory_rss", 0)))


# The rights that our user needs: every command that our operations run, inside scripts and outside of them.

Command = tuple[str, ...]

# The commands that run on our keys, by the arguments after the key. A script runs with the rights of its caller.
_BY_ARGUMENTS = {
    "": "DEL EXISTS GET HGETALL HKEYS HLEN LLEN LPOP RPOP SCARD SMEMBERS SRANDMEMBER STRLEN TYPE UNLINK ZCARD "
    "ZRANDMEMBER",
    "0": "LINDEX SSCAN ZSCAN",
    "0 1": "GETRANGE LRANGE LTRIM ZCOUNT ZRANGE ZRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYSCORE",
    "0 v": "LSET",
    "1": "BLPOP BRPOP PEXPIRE",
    "1 m": "ZADD",
    "1 v": "LREM",
    "BEFORE v v": "LINSERT",
    "f": "HDEL HEXISTS HGET HMGET",
    "f 1": "HINCRBY",
    "f v": "HSET HSETNX",
    "m": "SADD SISMEMBER SREM ZRANK ZREM ZREVRANK ZSCORE",
    "v": "LPOS LPUSH RPUSH SET",
    "* f v": "XADD",
    "- +": "XRANGE",
    "+ -": "XREVRANGE",
}
_ON_KEYS: dict[str, Command] = {
    name: tuple(arguments.split()) for arguments, names in _BY_ARGUMENTS.items() for name in names.split()
}
_ON_LANES = ("LINDEX", "LINSERT", "LLEN", "LPOP", "LPOS", "LPUSH", "LRANGE", "LREM", "LSET", "RPOP", "RPUSH")


def needed_rights(keys: Keys, lanes: Sequence[str]) -> Iterator[tuple[str, Command]]:
    """All commands that Holdfast needs: the name of each, and an example of a call, for ACL DRYRUN."""
    yield "EVALSHA", ("EVALSHA", "0" * 40, *map(str, keys.declared))
    yield "SCRIPT LOAD", ("SCRIPT", "LOAD", "return 1")
    yield "CLIENT SETNAME", ("CLIENT", "SETNAME", "x")
    yield "INFO", ("INFO", "server")
    yield "TIME", ("TIME",)
    yield "SCAN", ("SCAN", "0")
    yield "PING", ("PING",)
    if keys.in_cluster:
        yield "CLUSTER SLOTS", ("CLUSTER", "SLOTS")
    for name, rest in sorted(_ON_KEYS.items()):
        yield f"{name} {keys.prefix}*", (name, f"{keys.prefix}x", *rest)
    yield f"RENAME {keys.prefix}*", ("RENAME", f"{keys.prefix}x", f"{keys.prefix}y")
    yield f"ZINTER {keys.prefix}*", ("ZINTER", "2", f"{keys.prefix}x", f"{keys.prefix}y")
    for lane in map(keys.lane, lanes):
        for name in _ON_LANES:
            yield f"{name} {lane}", (name, lane, *_ON_KEYS[name])
        yield f"BLMOVE {lane}", ("BLMOVE", lane, lane, "LEFT", "LEFT", "1")
    channels = keys["done"] + "*"
    yield f"PUBLISH {channels}", ("PUBLISH", keys["done"] + "x", "v")
    yield f"SUBSCRIBE {channels}", ("SUBSCRIBE", keys["done"] + "x")
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
        """Check that the server answers a PING. Raises StoreUnavailableError or StoreRefusedError if it does not."""
        await self._command("PING")

    async def ping_for_submits(self) -> None:
        """Check that a producer can submit tasks. With PostgreSQL storage, Redis may be away. Raises the errors of
        `ping`."""
        await self.ping()

    async def preflight(self, lanes: Sequence[str] = ()) -> None:
        """Check that the server is reachable and new enough, evicts no keys, and holds the schema that this Holdfast
        needs. Also check that the user in the URL may run every command that the queue and these lanes need.

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
        """Refuse a user who lacks a right. Without this check, a missing right would end a script between two of its
        writes."""
        if missing := await missing_rights(self.connection, lanes):
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise StoreRefusedError(
                f"Redis at {self.connection.url}: the user of this URL may not run {', '.join(missing[:SHOWN])}{more}, "
                "so results could be recorded in part: run the command that supervisor doctor prints"
            )

    async def _check_eviction(self) -> None:
        policy = memory(info(await self._command("INFO", "memory"))).policy
        if policy != "noeviction":
            raise StoreRefusedError(
                f"Redis at {self.connection.url} evicts keys (maxmemory-policy {policy}), so tasks could vanish; set "
                "maxmemory-policy noeviction"
            )

    async def _check_schema(self) -> None:
        stored: bytes | None = await self._command("HGET", self._keys["meta"], "schema")
        if stored is None:  # written only if missing: a store out of memory may still serve
            await self._command("HSETNX", self._keys["meta"], "schema", SCHEMA)
            stored = await self._command("HGET", self._keys["meta"], "schema")
        schema = (stored or b"").decode(errors="replace")
        if schema != str(SCHEMA):
            raise StoreRefusedError(
                f"queue {self._keys.queue} holds schema {schema!r}, this version needs {SCHEMA}; "
                "run the version that wrote it, or use another queue name"
            )
