"""What a worker serves: its lanes, and the handlers that it has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServedLane:
    """A lane that a worker takes tasks from. `weight` None: lanes are taken in their order; `timeout`: seconds that one
    run of its tasks may take."""

    name: str
    weight: int | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """The lanes of a worker in their order, and the names of its handlers, where the empty name stands for tasks that
    name none. `names` None: it runs tasks of any name."""

    lanes: tuple[ServedLane, ...]
    names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ServiceState:
    """Who could run tasks of a handler's name in a lane: `living` workers of the queue, those that serve the lane
    (`in_lane`), of these those that have the handler (`able`), and the first of them. `paused`: why nothing of the lane
    starts; None where it is open. `unserved_ms`: for how long nobody has had the handler for which tasks wait."""

    lane: str
    name: str
    living: int
    in_lane: int
    able: int
    servers: tuple[str, ...] = ()
    paused: str | None = None
    unserved_ms: int | None = None
