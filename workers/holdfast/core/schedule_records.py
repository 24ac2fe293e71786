"""Schedules as they pass to and from a store. Moments and lengths are milliseconds."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from holdfast.core.cadence import restored
from holdfast.core.schedules import Bounds, Misfire, Overlap, Schedule, SchedulePolicy
from holdfast.core.tasks import Submission


@dataclass(frozen=True, slots=True)
class Definition:
    """`spec` is the user's request in its canonical spelling: the same spec is the same schedule. `declared`: the
    code of an application declares it; `owner` is that application, if it has a name."""

    schedule_id: str
    spec: str
    cadence: str
    timezone: str
    bounds: Bounds
    policy: SchedulePolicy
    on_failure: str = "continue"
    backoff: int = 0
    owner: str = ""
    declared: bool = False

    def schedule(self, expected: int | None = None, fires: int = 0) -> Schedule:
        return Schedule(self.schedule_id, restored(self.cadence), self.bounds, self.policy, expected, fires)


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule as the store has it. `paused`: the reason, empty if it is not paused; `until`: the end of its
    pause; `ended`: the reason why there will be no more fires; `task`: the last one; `pending`: a fire that waits for
    it to end, `released` when it has; `streak`: the number of tasks in a row that failed."""

    definition: Definition
    generation: int
    expected: int | None
    due: int | None
    fires: int
    paused: str
    until: int | None
    ended: str
    task: str
    pending: int | None
    released: bool
    streak: int
    created: int
    updated: int

    @property
    def schedule(self) -> Schedule:
        return self.definition.schedule(self.expected, self.fires)


@dataclass(frozen=True, slots=True)
class SpoiltSchedule:
    """A schedule whose record cannot be read, and the reason; `generation` as it stands there, empty if it does not."""

    schedule_id: str
    generation: str
    why: str


@dataclass(frozen=True, slots=True)
class Fire:
    """One occurrence and the task that it makes. `is_made`: a ledger knows this task."""

    scheduled_at: int
    task: Submission
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class FireOrder:
    """An order for one schedule. It is carried out if the schedule still has this `generation` and `seen` (the
    expected moment, or the one that waited), between `good_from` and `good_until`, for which it was decided.
    `following` and `due` are written then, unless the order is for an `extra` fire."""

    schedule_id: str
    generation: int
    seen: int | None
    kind: str
    good_from: int
    good_until: int
    fires: tuple[Fire, ...]
    following: int | None = None
    due: int | None = None
    missed: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Put:
    """The answer to setting a schedule: `word` is new, changed or same; `expected` the moment of its next fire.

    Of one that code declares, with nothing changed: `foreign`, another application owns it, and its live workers
    declare it; `later`, a worker of this application that began later has declared it, and this worker asks again.
    """

    word: str
    generation: int
    expected: int | None


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A schedule of the code that no live worker declares any more; `owner` is its application, empty for none."""

    schedule_id: str
    owner: str

    @property
    def remedy(self) -> str:
        """The line that removes it."""
        return f"supervisor schedules remove {shlex.quote(self.schedule_id)}"


@dataclass(frozen=True, slots=True)
class Retired:
    """One step of the search for undeclared schedules: those that were `removed`, and those that stay though no live
    worker declares them.

    `token` goes with the next step. `begins`: the search has begun anew, steps before it count no more. `more`: it has
    not ended.
    """

    token: str
    removed: tuple[Undeclared, ...] = ()
    left: tuple[Undeclared, ...] = ()
    begins: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """Schedules that are due at `now` of the store's clock, and milliseconds until the next one (None: none).
    `halted`: the caller is to make no fires, and gets none."""

    now: int
    records: tuple[ScheduleRecord, ...]
    wait: int | None
    spoilt: tuple[SpoiltSchedule, ...] = ()
    halted: bool = False


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """A page of a list; `spoilt` cannot be read; `cursor` continues it, empty at its end."""

    schedules: tuple[ScheduleRecord, ...]
    spoilt: tuple[SpoiltSchedule, ...] = ()
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A line of a schedule's history. `what`: fired, skipped, waits, missed, ended, set, paused, resumed, stopped."""

    at: int
    what: str
    scheduled_at: int | None
    task: str
    detail: str


def read_misfire(text: str) -> Misfire | None:
    """`latest`, `skip` or `all:N`; None for anything else."""
    kind, _, number = text.partition(":")
    match kind:
        case "latest" if text == kind:
            return Misfire()
        case "skip" if text == kind:
            return Misfire(latest=False)
        case "all" if number.isascii() and number.isdecimal() and len(number) <= 20 and int(number) > 0:
            return Misfire(latest=False, most=int(number))
        case _:
            return None


def read_policy(overlap: str, misfire: str, deadline: int | None, jitter: int) -> SchedulePolicy:
    """The policy of a record from the store."""
    return SchedulePolicy(Overlap(overlap), read_misfire(misfire) or Misfire(), deadline, jitter)
