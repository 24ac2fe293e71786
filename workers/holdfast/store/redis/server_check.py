"""Checks that a Redis server can be used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.core.store_info import ServerAddress
from holdfast.errors import StoreRefusedError
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.error_mapping import node_of_cluster
from holdfast.store.redis.keys import SCHEMA, Keys
from holdfast.store.redis.part import RedisPart
from holdfast.store.redis.server_report import info

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
    async def ping(self) -> None:
        await self._command("PING")

    async def preflight(self, lanes: Sequence[str] = ()) -> None:
        await self._command("PING")
        await self._check_server()
        await self._check_rights(lanes or [self._keys.queue])
        await self._check_eviction()
        await self._connection.check_types()
        await self._check_schema()

    def address(self) -> ServerAddress | None:
        return self._connection.server

    async def _check_server(self) -> None:
        report = info(await self._command("INFO", "server"))
        version = report.get("redis_version", "0")
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if numbers < _OLDEST:
            raise StoreRefusedError(
                f"Redis at {self._connection.url} is {version}; Redis 7.0 or later, or Valkey, is needed"
            )
        if "cluster" in {report.get("redis_mode"), report.get("server_mode")} and not self._connection.in_cluster:
            raise StoreRefusedError(node_of_cluster(self._connection.url))

    async def _check_rights(self, lanes: Sequence[str]) -> None:
        """Refuse a user without all rights: a missing right would end a script between two of its writes."""
        if missing := await missing_rights(self._connection, lanes):
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise StoreRefusedError(
                f"Redis at {self._connection.url}: its user may not run {', '.join(missing[:SHOWN])}{more}, and "
                "results would be recorded in part; give it these rights: supervisor doctor prints the command"
            )

    async def _check_eviction(self) -> None:
        memory = info(await self._command("INFO", "memory"))
        policy = memory.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            raise StoreRefusedError(
                f"Redis at {self._connection.url} evicts keys (maxmemory-policy {policy}), tasks would vanish; "
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
