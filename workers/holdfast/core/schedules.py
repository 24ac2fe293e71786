"""The rules of schedules: which fires to make at a moment, which fires were missed, and when the next fire is. A fire
is one planned run of a schedule: to make a fire is to create its task.

Moments and lengths are milliseconds.

Rule 1. A fire is named by its schedule and its planned moment (`scheduled_at`), however late it is made and whatever
its jitter. So any steward may make it, and the store makes it once.

Rule 2. A fire is on time for ON_TIME after its moment: a steward that died is replaced within this time. Fires that are
made later are missed, and `misfire` says which of the missed fires are still made.

Rule 3. A fire that is later than the start deadline is not made, whatever `misfire` says.

Rule 4. Jitter delays a fire, by the same length on every host. It does not move later fires.

Rule 5. Fires lie within `start` and `end`, and there are at most `limit` of them. Missed fires do not count.

Theory of operation. `plan` looks at one schedule at one moment, and answers with the fires to make, the missed fires,
and the next moment. The store compares the expected moment before it makes the fires (`schedule_fire.lua`). So two
stewards with the same plan make each fire once. `overlap` is not decided here: only the store knows if the task of the
fire before has ended.

Warning. A schedule that was due each second may have stood still for a year. Searches are binary, and MOST_AT_ONCE
bounds the fires of one plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, takewhile

from holdfast.core.cadence import Cadence, following

ON_TIME = 5_000  # a later run is missed: a steward that died is replaced in less time
MOST_AT_ONCE = 1_000  # with `all:N`: the missed runs for which one plan still creates tasks


class Overlap(StrEnum):
    """How a schedule treats a planned run while the task of the previous run has not ended."""

    ALLOW = "allow"
    FORBID = "forbid"
    QUEUE_ONE = "queue-one"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Misfire:
    """The missed runs that are still made: the oldest ones, at most `most` (0: none), or only the latest."""

    latest: bool = True
    most: int = 0

    def __str__(self) -> str:
        return "latest" if self.latest else f"all:{self.most}" if self.most else "skip"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a schedule: from `start` to `end`, both included, `limit` times at most."""

    start: int | None = None
    end: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class SchedulePolicy:
    """How a schedule treats late and overlapping runs. `deadline`: a run that is later than this is skipped. `jitter`:
    a run is delayed by less than this."""

    overlap: Overlap = Overlap.FORBID
    misfire: Misfire = Misfire()
    deadline: int | None = None
    jitter: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule, with the values that its rules need. `expected`: the moment of the next run, None if there is none
    (yet); `fires`: the number of runs so far."""

    schedule_id: str
    cadence: Cadence
    bounds: Bounds
    policy: SchedulePolicy
    expected: int | None
    fires: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision for a schedule at one moment. `fires`: the planned moments to create tasks for, oldest first.
    `missed`: the first and the last planned moment that get no task; `why`: the reason. `expected`: the moment of the
    next run."""

    fires: tuple[int, ...] = ()
    missed: tuple[int, int] | None = None
    why: str = ""
    expected: int | None = None


def expected_after(schedule: Schedule, after: int) -> int | None:
    """The first planned moment after `after` that the schedule's bounds allow; None if there is none."""
    bounds = schedule.bounds
    if not _has_room(schedule):
        return None
    moment = following(schedule.cadence, after if bounds.start is None else max(after, bounds.start - 1))
    return moment if moment is None or bounds.end is None or moment <= bounds.end else None


def _has_room(schedule: Schedule) -> bool:
    return schedule.bounds.limit is None or schedule.fires < schedule.bounds.limit


def series(schedule: Schedule, first: int | None) -> Iterator[int]:
    """The planned moments of the schedule, beginning with `first`, as many as its limit still allows."""
    limit = schedule.bounds.limit
    left = None if limit is None else limit - schedule.fires
    while first is not None and left != 0:
        yield first
        first = expected_after(schedule, first)
        left = None if left is None else left - 1


def due(schedule: Schedule, scheduled_at: int) -> int:
    """The moment at which the task for a planned moment is created: the planned moment and its jitter. All hosts
    compute the same jitter."""
    if not schedule.policy.jitter:
        return scheduled_at
    name = f"{schedule.schedule_id}@{scheduled_at}".encode()
    spread = int.from_bytes(hashlib.sha256(name).digest()[:8], "big")
    return scheduled_at + spread % schedule.policy.jitter


def plan(schedule: Schedule, now: int) -> Plan:
    """The plan for a schedule at `now`; an empty plan if no run is due."""
    first = schedule.expected
    if first is None or due(schedule, first) > now:
        return Plan(expected=first)
    second = expected_after(schedule, first)  # not asked twice: of most schedules one is due, and a search takes time
    last = first if second is None or due(schedule, second) > now else _last_due(schedule, second, now)
    chosen = [moment for moment in _chosen(schedule, first, last, now) if not _too_late(schedule, moment, now)]
    room = schedule.bounds.limit - schedule.fires if schedule.bounds.limit is not None else len(chosen)
    fires = tuple(chosen[:room])
    after = replace(schedule, expected=None, fires=schedule.fires + len(fires))
    left_out = None if fires == (first,) and first == last else _left_out(schedule, first, last, fires)
    expected = second if last == first and _has_room(after) else expected_after(after, last)
    return Plan(fires, left_out, _reason(schedule, left_out, now), expected)


def _last_due(schedule: Schedule, first: int, now: int) -> int:
    """The latest planned moment of the schedule, from `first` to `now`, that is already due (jitter included). This is
    a binary search: for a range of one year it takes about forty steps."""
    low, high = first, now + 1
    while low < high - 1:
        following_one = expected_after(schedule, low)
        if following_one is None or due(schedule, following_one) > now:
            return low
        middle = (low + high) // 2
        later = expected_after(schedule, middle)
        low, high = (later, high) if later is not None and due(schedule, later) <= now else (low, middle)
    return low


def _chosen(schedule: Schedule, first: int, last: int, now: int) -> list[int]:
    misfire = schedule.policy.misfire
    if now - due(schedule, last) <= ON_TIME and not (misfire.most and first != last):
        return [last]  # on time; runs before it are missed
    if misfire.latest:
        return [last]
    in_time = (
        moment for moment in series(schedule, _useful(schedule, first, now)) if not _too_late(schedule, moment, now)
    )
    return list(islice(takewhile(lambda moment: moment <= last, in_time), min(misfire.most, MOST_AT_ONCE)))


def _useful(schedule: Schedule, first: int, now: int) -> int | None:
    """The first planned moment, not before `first`, that is not later than the start deadline allows."""
    deadline = schedule.policy.deadline
    oldest = first if deadline is None else now - deadline - schedule.policy.jitter
    return first if oldest <= first else expected_after(schedule, oldest - 1)


def _too_late(schedule: Schedule, moment: int, now: int) -> bool:
    deadline = schedule.policy.deadline
    return deadline is not None and now - due(schedule, moment) > deadline


def _left_out(schedule: Schedule, first: int, last: int, fires: tuple[int, ...]) -> tuple[int, int] | None:
    """The first and the last planned moment for which no task is created; None if there is none. The moments in
    `fires`, which get tasks, are the oldest or the latest of the range."""
    if not fires:
        return first, last
    if fires[0] > first:
        return first, _before(schedule, first, fires[0])
    after = expected_after(schedule, fires[-1])
    return (after, last) if after is not None and after <= last else None


def _before(schedule: Schedule, first: int, end: int) -> int:
    """The last planned moment before `end`, found by binary search; `first` is a planned moment."""
    low, high = first, end - 1
    while low < high:
        middle = (low + high + 1) // 2
        later = expected_after(schedule, middle - 1)
        if later is not None and later < end:
            low = later
        else:
            high = middle - 1
    return low


def _reason(schedule: Schedule, left_out: tuple[int, int] | None, now: int) -> str:
    if left_out is None:
        return ""
    if _too_late(schedule, left_out[1], now):
        return f"later than its start deadline of {(schedule.policy.deadline or 0) / 1000:g} s"
    return f"missed, and misfire is {schedule.policy.misfire}"
