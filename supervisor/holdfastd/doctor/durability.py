"""Whether the store keeps what it has accepted: through a restart, and when its memory is full."""

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
        found = f"maxmemory-policy {memory.policy}: tasks would vanish, so `start` refuses it"
        yield _EVICTION.problem(found, "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
    used = f"{memory.used // MEBIBYTE} MiB used"
    if not memory.limit:
        yield _MEMORY.ok(f"{used}, no limit of its own")
        return
    share = memory.used / memory.limit
    found = f"{used} of {memory.limit // MEBIBYTE} MiB (maxmemory), {share:.0%}"
    fix = "raise maxmemory, keep ended tasks for a shorter time (--keep), or run more workers"
    if share >= 1:
        yield _MEMORY.problem(f"{found}: submits are refused", fix)
    elif share > NEARLY_FULL:
        yield _MEMORY.warning(f"{found}: above it submits are refused", fix)
    else:
        yield _MEMORY.ok(found)


def judge_persistence(kept: PersistenceInfo) -> Iterator[Finding]:
    if kept.aof:
        yield _judge_fsync(kept.fsync)
    elif kept.save:
        found = f"snapshots alone (save {kept.save}): a crash loses what came after the last one"
        yield _PERSISTENCE.warning(found, _AOF)
    elif kept.save == "":
        yield _PERSISTENCE.warning("none at all: a restart loses everything", _AOF)
    else:
        found = "no AOF; whether it makes snapshots is not shown to us: a crash loses what came after the last one"
        yield _PERSISTENCE.warning(found, _AOF)
    yield from _judge_writes(kept)


def _judge_fsync(fsync: str | None) -> Finding:
    match fsync:
        case None:
            return _PERSISTENCE.ok("AOF; how often it is flushed is not shown to us")
        case "no":
            found = "AOF, flushed when the system likes (appendfsync no): a power cut loses up to half a minute"
            return _PERSISTENCE.warning(found, "CONFIG SET appendfsync everysec, and the same in redis.conf")
        case "always":
            return _PERSISTENCE.ok("AOF, flushed before each answer (appendfsync always)")
        case _:
            return _PERSISTENCE.ok(f"AOF (appendfsync {fsync}): a power cut loses a second or two")


def _judge_writes(kept: PersistenceInfo) -> Iterator[Finding]:
    failed = [
        (kept.aof_write, "the last write of the AOF failed: while they fail, all writes are refused"),
        (kept.snapshot, "the last snapshot failed: Redis may refuse all writes (stop-writes-on-bgsave-error)"),
        (kept.aof_rewrite, "the last rewrite of the AOF failed: it only grows"),
    ]
    fix = "look into the server's log; most often its disk is full, or it may not fork (vm.overcommit_memory=1)"
    for status, found in failed:
        if status != "ok":
            yield _WRITES.problem(found, fix)
    if all(status == "ok" for status, _ in failed):
        yield _WRITES.ok("the last ones of each kind went well")
