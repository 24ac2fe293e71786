"""Reads the server's reports on itself: INFO, CLIENT LIST, CONFIG GET."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.core.store_info import ForeignClient, MemoryInfo, PersistenceInfo, Replica, ServerInfo, SlowCommand
from holdfast.store.redis.decode import pairs

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
