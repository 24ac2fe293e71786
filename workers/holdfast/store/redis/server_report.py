"""What Redis reports of itself, read: INFO, CLIENT LIST, CONFIG GET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.core.store_info import ForeignClient, MemoryInfo, PersistenceInfo, ServerInfo
from holdfast.store.redis.decode import pairs

# Commands that take from a list, or block until they can. Ours among them bear our client name.
TAKING = frozenset(
    {"blpop", "brpop", "lpop", "rpop", "blmove", "lmove", "brpoplpush", "rpoplpush", "blmpop", "lmpop", "lrem", "ltrim"}
)

Info = Mapping[str, str]


def info(text: bytes) -> dict[str, str]:
    """One section of INFO, or all of it."""
    lines = (line.split(":", 1) for line in text.decode(errors="replace").splitlines() if ":" in line)
    return {name: value for name, value in lines if value}


def settings(answer: Sequence[bytes]) -> dict[str, str]:
    """The answer of CONFIG GET."""
    return {name: value.decode(errors="replace") for name, value in pairs(answer)}


def server(told: Info, found_by: str, address: str) -> ServerInfo:
    """Valkey keeps the version of the last Redis it was the same as, beside its own."""
    is_valkey = told.get("server_name") == "valkey" or "valkey_version" in told
    return ServerInfo(
        engine="valkey" if is_valkey else "redis",
        version=told.get("valkey_version" if is_valkey else "redis_version", "0"),
        mode=told.get("server_mode") or told.get("redis_mode", "standalone"),
        role=told.get("role", "master"),
        found_by=found_by,
        address=address,
        replicas=int(told.get("connected_slaves", 0)),
        careful="min_slaves_good_slaves" in told,  # only said where it is asked for
    )


def memory(told: Info) -> MemoryInfo:
    policy = told.get("maxmemory_policy", "noeviction")
    return MemoryInfo(int(told.get("used_memory", 0)), int(told.get("maxmemory", 0)), policy)


def persistence(told: Info, config: Info | None) -> PersistenceInfo:
    return PersistenceInfo(
        aof=told.get("aof_enabled") == "1",
        fsync=config.get("appendfsync") if config is not None else None,
        save=config.get("save") if config is not None else None,
        aof_write=told.get("aof_last_write_status", "ok"),
        aof_rewrite=told.get("aof_last_bgrewrite_status", "ok"),
        snapshot=told.get("rdb_last_bgsave_status", "ok"),
    )


def strangers(listed: bytes, ours: str, database: str) -> tuple[ForeignClient, ...]:
    """Clients of this database in CLIENT LIST that take from lists and do not bear the name `ours`."""
    found: list[ForeignClient] = []
    for line in listed.decode(errors="replace").splitlines():
        told = dict(field.split("=", 1) for field in line.split(" ") if "=" in field)
        is_taking = told.get("cmd", "").lower() in TAKING and told.get("db") == database
        if is_taking and told.get("name") != ours:
            idle = int(told.get("idle", 0))
            found.append(ForeignClient(told.get("name", ""), told.get("addr", ""), told["cmd"].lower(), idle))
    return tuple(found)
