"""Checks that a Redis server can be used."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.core.store_info import ServerAddress
from holdfast.errors import StoreRefusedError
from holdfast.store.redis.acl import needed
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.error_mapping import node_of_cluster
from holdfast.store.redis.keys import SCHEMA
from holdfast.store.redis.part import RedisPart
from holdfast.store.redis.server_report import info

_OLDEST = (7, 0)
SHOWN = 5  # rights that an error names


async def missing_rights(connection: Connection, lanes: Sequence[str]) -> tuple[str, ...]:
    """The commands for the queue and these lanes that the server's access list refuses to this user."""
    named = dict(needed(connection.keys, lanes))
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
        """A right that is missing would end a script between two of its writes."""
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
