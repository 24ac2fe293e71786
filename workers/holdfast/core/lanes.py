"""The state of lanes as an operator sees it, limits of lanes and handlers, and entries that nobody can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.core.words import counted
from holdfast.core.worker_records import ServedLane


class LaneBound(StrEnum):
    """The kind of a limit of a lane or of a handler."""

    LIMIT = "limit"  # tasks that run at once
    KEYS = "keys"  # of those, tasks of one concurrency key
    RATE = "rate"  # starts in a time
    NAME = "name"  # starts of one handler in a time
    END = "end"  # `tail`: producers push at the head of the lane's list, so workers take from its tail


NO_BOUND = "none"


@dataclass(frozen=True, slots=True)
class LaneLimit:
    """One limit. `value`: a number; for a rate `count/period in ms/burst`; for the end of the list that is served,
    `tail`. `none`: no limit. An empty value removes the operator's limit."""

    bound: LaneBound
    subject: str
    value: str


@dataclass(frozen=True, slots=True)
class LimitOrder:
    """The values set for one limit. `asked`: the value that an operator has set; if there is one, it counts. `told`:
    the value in the settings of `host`."""

    asked: str = ""
    told: str = ""
    host: str = ""

    @property
    def value(self) -> str:
        """The value in force, empty for none."""
        value = self.asked or self.told
        return "" if value == NO_BOUND else value


@dataclass(frozen=True, slots=True)
class LaneState:
    """A lane at one moment. `entries`: waiting entries in its list, without known stale ones. `held`: tasks that wait
    outside of the list, for a limit or a handler. `closed`: the reason why none of its tasks may start now. `workers`:
    the number of live workers that serve it; `served`: the distinct settings that they registered. `missing`: names of
    handlers that none of these workers has, with the number of waiting tasks. `wrong_end`: how many entries of other
    producers stewards saw pushed at the end from which workers take tasks; the last one at `wrong_end_ms`."""

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
    """All lanes at one moment, by Redis's clock. `handlers`: the rates of named handlers; `living`: the number of
    live workers."""

    now_ms: int
    lanes: tuple[LaneState, ...]
    handlers: dict[str, LimitOrder]
    living: int = 0


WRONG_END_TOLD_MS = 86_400_000  # for so long a push at the wrong end is reported


def wrong_end_words(lane: LaneState, now_ms: int) -> str:
    """How many entries other producers pushed at the wrong end of the lane's list (the end from which workers take
    tasks), and when. Empty if this did not happen lately."""
    if lane.wrong_end_ms is None or now_ms - lane.wrong_end_ms > WRONG_END_TOLD_MS:
        return ""
    ago = max(0, now_ms - lane.wrong_end_ms) / 1000
    return f"{counted(lane.wrong_end, 'entry', 'entries')} seen, the last {ago:.0f} s ago"


def wrong_end_mend(lane: str, *, turned: bool) -> str:
    """The advice if producers push entries at the wrong end of the lane's list. `turned`: workers take tasks from the
    tail of the list."""
    right = "LPUSH" if turned else "RPUSH"
    way_out = "" if turned else f", or serve the lane from its tail: -Q '{lane};end=tail'"
    return f"have that producer {right}{way_out}"


class Readmitted(StrEnum):
    """The store's answer to putting an unreadable entry back into its lane."""

    BACK = "back"
    GONE = "gone"  # it is no longer set aside
    CUT = "cut"  # only its beginning was kept, so it stays set aside


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """An entry that was set aside: the reason, the moment, and its bytes (cut at 64 KiB; `size` is the full size).
    `address`: its name while the store keeps the entry. `lane`: the lane in which it was found; empty for the public
    queue."""

    reason: str
    at_ms: int
    size: int
    raw: bytes
    address: str = ""
    lane: str = ""

    @property
    def is_cut(self) -> bool:
        return len(self.raw) < self.size
