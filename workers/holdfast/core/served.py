"""The work that a worker serves: its lanes, its handlers, and the limits of its supervisor's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServedLane:
    """A lane that a worker takes tasks from. `weight` None: lanes are taken in their order; `timeout`: seconds that one
    run of its tasks may take."""

    name: str
    weight: int | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ServedLimits:
    """Settings that decide the fate of a task: runs of one that fails, seconds for which a task of an unknown
    handler waits, and seconds for which an ended task is kept."""

    max_attempts: int
    unknown_handler_timeout: float
    keep: float


@dataclass(frozen=True, slots=True)
class ServedWork:
    """The lanes of a worker in their order, and the names of its handlers, where the empty name stands for tasks that
    name none. `names` None: it runs tasks of any name. `schedules`: the ids that its code declares, for the application
    of this name, empty for none. `limits` None: it does not say."""

    lanes: tuple[ServedLane, ...]
    names: frozenset[str] | None = None
    limits: ServedLimits | None = None
    application: str = ""
    schedules: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServedState:
    """The workers that could run tasks of a handler's name in a lane: `living` workers of the queue, those that
    serve the lane (`in_lane`), of these those that have the handler (`able`), and the first of them. `paused`: the
    reason why nothing of the lane starts; None if it is open. `unserved_ms`: for how long no worker has had the handler
    for which tasks wait. `limits`: the strictest that workers registered; None if none did."""

    lane: str
    name: str
    living: int
    in_lane: int
    able: int
    servers: tuple[str, ...] = ()
    paused: str | None = None
    unserved_ms: int | None = None
    limits: ServedLimits | None = None


def strictest(of_lane: Sequence[ServedLimits], of_all: Sequence[ServedLimits]) -> ServedLimits | None:
    """The strictest limits: workers of the lane run the task; the steward of any supervisor ends and deletes it."""
    if not of_all:
        return None
    return ServedLimits(
        max_attempts=min(one.max_attempts for one in of_lane or of_all),
        unknown_handler_timeout=min(one.unknown_handler_timeout for one in of_all),
        keep=min(one.keep for one in of_all),
    )
