"""The memory of the Redis server as the machine sees it: fragmented, or swapped out."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import MemoryInfo
from holdfastd.doctor.finding import Check, Finding

MUCH = 100 << 20  # bytes: an empty server takes several times what it uses, and that harms nobody
FRAGMENTED = 1.5
MEBIBYTE = 1 << 20

_FRAGMENTATION = Check("redis", "fragmentation")


def judge(memory: MemoryInfo) -> Iterator[Finding]:
    if not memory.resident:
        return
    more = memory.resident - memory.used
    text = f"{memory.used // MEBIBYTE} MiB used take {memory.resident // MEBIBYTE} MiB of the machine"
    if more > MUCH and memory.resident > FRAGMENTED * memory.used:
        fix = "CONFIG SET activedefrag yes (MEMORY PURGE for once), or restart the server at a quiet hour"
        yield _FRAGMENTATION.warning(f"{text}, {memory.resident / memory.used:.1f} times as much", fix)
    elif -more > MUCH:
        fix = "lower maxmemory, give the machine more memory, or move other programs away"
        yield _FRAGMENTATION.warning(f"{text}: the rest is swapped out, and commands wait for the disk", fix)
    else:
        yield _FRAGMENTATION.ok(text)
