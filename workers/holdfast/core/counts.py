"""A queue in numbers, and its ledger: what a store answers when it is asked for its state. Times are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.task_states import State


@dataclass(frozen=True, slots=True)
class Counts:
    """The namespace in numbers: `states` counts tasks, `lanes` entries per lane, `counters` since the beginning."""

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
    """One life of the store, which keeps its name as long as it keeps anything, and the number of its tasks. If a
    steward saw it come back empty: how long ago, and how many tasks that steward knew of before."""

    name: str
    tasks: int
    emptied_ago_ms: int | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Obliterated:
    """One step of deleting a queue: the number of keys, and the next cursor ('' at the end). `workers`: so many are
    there, and nothing was deleted."""

    keys: int
    cursor: str
    workers: int = 0


@dataclass(frozen=True, slots=True)
class KeptTask:
    """The result of a round of replication. `busy`: another steward was at it; `more`: there is more to do."""

    busy: bool = False
    more: bool = False
    rebuilding: bool = False


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The ledger's status: its phase, the age of the last event it has ingested while there are newer ones, requests
    that wait to be given to Redis, how often Redis had lost data, tasks put back, ever."""

    phase: str
    behind_ms: int
    waiting: int
    losses: int
    restored: int
