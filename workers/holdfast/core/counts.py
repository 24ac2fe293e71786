"""The store's report on its state: a queue in numbers, and its ledger. Times are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

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
    """One life of the store, from empty to empty. `name`: its id; `tasks`: its number of tasks. `emptied_ago_ms`: how
    long ago a steward saw the store come back empty; None if none did. `lost`: how many tasks that steward knew
    before."""

    name: str
    tasks: int
    emptied_ago_ms: int | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Obliterated:
    """The result of one step of deleting a queue: the number of deleted keys, and the next cursor ('' at the end).
    `workers`: the number of workers that still serve the queue; if there are any, nothing was deleted."""

    keys: int
    cursor: str
    workers: int = 0


@dataclass(frozen=True, slots=True)
class KeptTask:
    """The result of a round of replication. `busy`: another steward replicates now. `more`: there is work for another
    round."""

    busy: bool = False
    more: bool = False
    rebuilding: bool = False


class RebuildPhase(StrEnum):
    """The phase of a ledger: what its steward does next. After a loss of Redis the phases follow each other in this
    order."""

    NOT_BEGUN = "not begun"  # no steward has copied the queue yet
    BOUNDING = "bounding"  # settings of lanes and hosts go back, before any task
    CORRECTING = "correcting"  # tasks whose end Redis has lost go back
    RESTORING = "restoring"  # tasks that have not ended, dead letters, and tasks with a webhook to be posted go back
    REMOVING = "removing"  # tasks that were removed are removed again
    SCHEDULING = "scheduling"  # schedules go back, and their changes are carried out again
    SWEEPING = "sweeping"  # all tasks that Redis knows are read once
    LISTING = "listing"  # all settings that Redis knows are read once
    FOLLOWING = "following"  # events are ingested, requests are given


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The ledger's status. `behind_ms`: how far its copy is behind Redis; `waiting`: requests that Redis does not have
    yet. `losses` and `restored`: how often Redis has lost data since the beginning, and how many tasks were put
    back."""

    phase: RebuildPhase
    behind_ms: int
    waiting: int
    losses: int
    restored: int
