"""All keys of a queue at one moment, for the subjects that compare them with each other.

Redis answers nobody else while it takes a snapshot, so a store that holds much is left alone unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from holdfast.core.store_info import MemoryInfo
from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.store import open_store
from holdfast_config import RedisSettings

MOST_BYTES = 16 << 20  # that the server uses: a snapshot of as much takes it some ten milliseconds
LOOK_TIMEOUT = 15.0  # seconds
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """The content of each key of the namespace by its name there, as `task:7`, and `expiring` keys; `lists`: the lanes
    with other names."""

    keys: Mapping[str, Any]
    expiring: frozenset[str]
    lists: Mapping[str, Any]

    @classmethod
    def of(cls, snapshot: Mapping[str, Any], queue: str) -> QueueSnapshot:
        """`snapshot`: as the store gives it."""
        prefix = f"{{{queue}}}:"
        ours = {key.removeprefix(prefix): held for key, held in snapshot.items() if key.startswith(prefix)}
        return cls(
            {key: held["content"] for key, held in ours.items()},
            frozenset(key for key, held in ours.items() if held["ttl"] >= 0),
            {key: held["content"] for key, held in snapshot.items() if not key.startswith(prefix)},
        )

    def of_kind(self, kind: str) -> Iterator[tuple[str, Any]]:
        """The keys that begin with `kind`, without it, each with its content."""
        return ((key.removeprefix(kind), held) for key, held in self.keys.items() if key.startswith(kind))

    @property
    def tasks(self) -> dict[str, Mapping[str, str]]:
        return dict(self.of_kind("task:"))

    @property
    def workers(self) -> dict[str, Mapping[str, str]]:
        return {name: held for name, held in self.of_kind("worker:") if ":" not in name}

    @property
    def owned(self) -> list[tuple[str, str, str]]:
        """Worker, task and claim of all that run."""
        running = ((name, held) for name, held in self.of_kind("worker:") if name.endswith(":running"))
        return [(name.removesuffix(":running"), task, claim) for name, held in running for task, claim in held.items()]

    def entries(self, lane: str) -> list[str]:
        return list(self.lists.get(lane) or self.keys.get(f"lane:{lane}", ()))


def look(redis: RedisSettings, memory: MemoryInfo | None, *, deep: bool) -> QueueSnapshot | str:
    """The snapshot, or the reason why there is none. `deep`: whatever its size."""
    if not deep and (memory is None or memory.used > MOST_BYTES):
        much = "an unknown amount" if memory is None else f"{memory.used // MEBIBYTE} MiB"
        return f"the store holds {much}, and Redis answers nobody else meanwhile"
    try:
        return anyio.run(_taken, redis, backend_options={"use_uvloop": True})
    except StoreError as error:
        return str(error)


async def _taken(redis: RedisSettings) -> QueueSnapshot:
    try:
        with anyio.fail_after(LOOK_TIMEOUT):
            async with open_store(redis) as store:
                return QueueSnapshot.of(await store.snapshot(), redis.queue)
    except TimeoutError:
        raise StoreUnavailableError(f"Redis gave no snapshot within {LOOK_TIMEOUT:g} s") from None
