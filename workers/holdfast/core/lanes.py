"""Lanes as an operator sees them, and the bounds put on them and on handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.core.plurals import counted
from holdfast.core.served import ServedLane


class LaneBound(StrEnum):
    """What bounds a lane (`name`: the handler of that name)."""

    LIMIT = "limit"  # tasks that run at once
    KEYS = "keys"  # of those, tasks of one concurrency key
    RATE = "rate"  # starts in a time
    NAME = "name"  # starts in a time of one handler
    END = "end"  # tail: it is filled at the head of its list, so its front is the tail


NO_BOUND = "none"


@dataclass(frozen=True, slots=True)
class LaneLimit:
    """One bound. `value`: a number; rates as count/period in ms/burst; of an end `tail`; `none`: no bound; empty: take
    the word back."""

    bound: LaneBound
    subject: str
    value: str


@dataclass(frozen=True, slots=True)
class LimitOrder:
    """What is said of one bound: `asked` by an operator, which counts first, and by the settings of a `host`."""

    asked: str = ""
    told: str = ""
    host: str = ""

    @property
    def value(self) -> str:
        """The bound in force, empty for none."""
        value = self.asked or self.told
        return "" if value == NO_BOUND else value


@dataclass(frozen=True, slots=True)
class LaneState:
    """`entries` in its list and `held` at its gates wait; `closed`: why nothing of it may start now.

    `workers` are the live ones that serve it, `served` is what they registered of it, each once; `missing`: names of
    handlers that none of them has, with the number of tasks that wait for them. `wrong_end`: foreign entries that
    stewards saw pushed at the end from which it is served, the last of them at `wrong_end_ms`."""

    name: str
    entries: int
    held: int
    running: int
    oldest_ms: int | None
    paused_since_ms: int | None = None
    paused_because: str = ""
    closed: str = ""
    limit: LimitOrder = field(default_factory=LimitOrder)
    keys: LimitOrder = field(default_factory=LimitOrder)
    rate: LimitOrder = field(default_factory=LimitOrder)
    end: LimitOrder = field(default_factory=LimitOrder)
    workers: int = 0
    served: tuple[ServedLane, ...] = ()
    missing: dict[str, int] = field(default_factory=dict[str, int])
    wrong_end: int = 0
    wrong_end_ms: int | None = None

    @property
    def is_paused(self) -> bool:
        return self.paused_since_ms is not None

    @property
    def waiting(self) -> int:
        return self.entries + self.held


@dataclass(frozen=True, slots=True)
class Lanes:
    """At one moment, by Redis's clock. `handlers`: the rates of named handlers; `living` workers."""

    now_ms: int
    lanes: tuple[LaneState, ...]
    handlers: dict[str, LimitOrder]
    living: int = 0


WRONG_END_TOLD_MS = 86_400_000  # that somebody pushed at the wrong end is told for so long


def wrong_end_words(lane: LaneState, now_ms: int) -> str:
    """How much was seen to be pushed at the end from which the lane is served, and when; empty if nothing of late."""
    if lane.wrong_end_ms is None or now_ms - lane.wrong_end_ms > WRONG_END_TOLD_MS:
        return ""
    ago = max(0, now_ms - lane.wrong_end_ms) / 1000
    return f"{counted(lane.wrong_end, 'entry', 'entries')} seen, the last {ago:.0f} s ago"


def wrong_end_mend(lane: str, *, turned: bool) -> str:
    """The advice where foreign entries were seen to be pushed at the end from which a lane is served."""
    right = "LPUSH" if turned else "RPUSH"
    way_out = "" if turned else f", or serve the lane from its tail: -Q '{lane};end=tail'"
    return f"have that producer {right}{way_out}"
