"""The store's report on its state: a queue in numbers, and its ledger. Times are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.task_states import State


@dataclass(frozen=True, slots=True)
class Counts:
    """The namespace in numbers. `states`: tasks by state. `lanes`: entries by lane. `counters`: totals since the
    beginning."""

    states: dict[State, int]
    lanes: dict[str, int]
    dead: int
    solo: int
    unreadable: int
    workers: int
    oldest_ms: int | None
    counters: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Epoch:
    """One life of the store, from empty to empty: its name and its number of tasks. If a steward saw the store come
    back empty: how long ago, and how many tasks that steward knew before."""

    name: str
    tasks: int
    emptied_ago_ms: int | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Obliterated:
    """One step of deleting a queue: the number of deleted keys, and the next cursor ('' at the end). `workers`: if
    above 0, the queue has so many workers, and nothing was deleted."""

    keys: int
    cursor: str
    workers: int = 0


@dataclass(frozen=True, slots=True)
class KeptTask:
    """The result of a round of replication. `busy`: another steward does it now. `more`: there is more to do."""

    busy: bool = False
    more: bool = False
    rebuilding: bool = False


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The ledger's status: its phase; how far its copy is behind; the number of requests that wait for Redis. Since the
    beginning: losses of Redis, and tasks put back."""

    phase: str
    behind_ms: int
    waiting: int
    losses: int
    restored: int
