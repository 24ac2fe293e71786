"""The memory of tasks in a server: all of it, and by kind of key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.producing import QUEUE

SAMPLES = 200  # elements of a large key that MEMORY USAGE looks at
_T = f"{{{QUEUE}}}:"
_EVENTS = f"{_T}events"
_OF_EACH = {"task": "", "op": "", "trail": "", "result": ":1"}  # what follows the id
_OF_ALL = {"queue": QUEUE, "submitted": f"{_T}submitted:{QUEUE}", "finished": f"{_T}finished"}
OF_WAITING = ("queue", "submitted")
KINDS = (*_OF_EACH, *_OF_ALL)

Kinds = dict[str, tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. `events`: those of `used` that the stream of events has, which is capped and so belongs to no task."""

    used: int
    resident: int
    events: int

    @property
    def tasks(self) -> int:
        return self.used - self.events


async def memory(client: Any) -> Memory:
    info = await client.info("memory")
    return Memory(info["used_memory"], info["used_memory_rss"], await _bytes(client, _EVENTS))


async def by_kind(client: Any, ids: Sequence[str], tasks: int) -> Kinds:
    """Bytes of a task by kind of key, and the encoding: means over `ids`, and its part of what `tasks` tasks share."""
    kinds = {
        kind: await _mean(client, [f"{_T}{kind}:{task_id}{rest}" for task_id in ids]) for kind, rest in _OF_EACH.items()
    }
    for kind, key in _OF_ALL.items():
        kinds[kind] = (await _bytes(client, key) / tasks, await _encoding(client, key))
    return {kind: size for kind, size in kinds.items() if size[0]}


async def _mean(client: Any, keys: Sequence[str]) -> tuple[float, str]:
    sizes = [await _bytes(client, key) for key in keys]
    return sum(sizes) / len(sizes), await _encoding(client, keys[0])


async def _bytes(client: Any, key: str) -> int:
    return await client.memory_usage(key, samples=SAMPLES) or 0


async def _encoding(client: Any, key: str) -> str:
    return (await client.object("encoding", key) or b"").decode()
