"""The durability of the Redis server: what it keeps through a restart, and what it does when its memory is full."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import MemoryInfo, PersistenceInfo
from holdfastd.doctor.finding import Check, Finding

NEARLY_FULL = 0.8
MEBIBYTE = 1 << 20

_EVICTION = Check("redis", "eviction")
_MEMORY = Check("redis", "memory")
_PERSISTENCE = Check("redis", "persistence")
_WRITES = Check("redis", "writes to disk")

_AOF = "CONFIG SET appendonly yes, and the same in redis.conf (CONFIG REWRITE)"


def judge_memory(memory: MemoryInfo) -> Iterator[Finding]:
    if memory.policy == "noeviction":
        yield _EVICTION.ok("noeviction")
    else:
        text = f"maxmemory-policy {memory.policy}: Redis would delete tasks to free memory, so `start` refuses it"
        yield _EVICTION.problem(text, "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
    yield _judge_used(memory)


def _judge_used(memory: MemoryInfo) -> Finding:
    used = f"{memory.used // MEBIBYTE} MiB used"
    if not memory.limit:
        return _MEMORY.ok(f"{used}, no maxmemory is set")
    share = memory.used / memory.limit
    text = f"{used} of {memory.limit // MEBIBYTE} MiB (maxmemory), {share:.0%}"
    fix = "raise maxmemory, keep ended tasks for a shorter time (--keep), or run more workers"
    if share >= 1:
        return _MEMORY.problem(f"{text}: submits are refused", fix)
    if share > NEARLY_FULL:
        return _MEMORY.warning(f"{text}: when it is full, submits are refused", fix)
    return _MEMORY.ok(text)


def judge_persistence(persistence: PersistenceInfo) -> Iterator[Finding]:
    if persistence.aof:
        yield _judge_fsync(persistence.fsync)
    elif persistence.save:
        text = f"only snapshots (save {persistence.save}): a crash loses all changes after the last one"
        yield _PERSISTENCE.warning(text, _AOF)
    elif persistence.save == "":
        yield _PERSISTENCE.warning("none: a restart of Redis loses everything", _AOF)
    else:
        text = "no AOF, and snapshots cannot be checked: a crash loses at least all changes after the last snapshot"
        yield _PERSISTENCE.warning(text, _AOF)
    yield from _judge_writes(persistence)


def _judge_fsync(fsync: str | None) -> Finding:
    match fsync:
        case None:
            return _PERSISTENCE.ok("AOF; appendfsync cannot be read")
        case "no":
            text = "AOF, flushed when the system decides (appendfsync no): a power cut loses up to 30 seconds"
            return _PERSISTENCE.warning(text, "CONFIG SET appendfsync everysec, and the same in redis.conf")
        case "always":
            return _PERSISTENCE.ok("AOF, flushed before each answer (appendfsync always)")
        case _:
            return _PERSISTENCE.ok(f"AOF (appendfsync {fsync}): a power cut loses a second or two")


def _judge_writes(persistence: PersistenceInfo) -> Iterator[Finding]:
    results = [
        (persistence.aof_write, "the last write of the AOF failed: until one succeeds, all writes are refused"),
        (persistence.snapshot, "the last snapshot failed: Redis may refuse all writes (stop-writes-on-bgsave-error)"),
        (persistence.aof_rewrite, "the last rewrite of the AOF failed: the file only grows"),
    ]
    fix = "read the server's log; usually its disk is full or it may not fork (vm.overcommit_memory=1)"
    for status, text in results:
        if status != "ok":
            yield _WRITES.problem(text, fix)
    if all(status == "ok" for status, _ in results):
        yield _WRITES.ok("the last AOF write, AOF rewrite and snapshot succeeded")
