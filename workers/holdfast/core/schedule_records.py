"""Schedules in the form in which a store takes and returns them. Moments and lengths are milliseconds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from holdfast.core.acceptance import Submission
from holdfast.core.cadence import restored
from holdfast.core.cadence.moments import Continue, Stop, local, read_moment
from holdfast.core.identity import sha1_hex
from holdfast.core.schedules import (
    ON_TIME,
    Bounds,
    Misfire,
    Overlap,
    Schedule,
    SchedulePolicy,
    due,
    expected_after,
    plan,
)
from holdfast.core.task_states import State
from holdfast.core.trail import Chronicle
from holdfast.errors import InvalidScheduleError


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a schedule. `spec`: the user's request in its canonical spelling; two definitions with the same
    spec are the same. `declared`: the code of an application declares the schedule; `owner`: the name of this
    application, if it has one."""

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
class EndedRun:
    """A run of a schedule that has ended: its task, the state in which it ended, and when."""

    task: str
    state: State
    at: int


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule as the store has it. `fires`: the number of runs so far. `paused`: the reason, empty if it is not
    paused; `until`: the end of its pause. `ended`: the reason why there will be no more runs. `task`: its last task.
    `pending`: the planned moment of a run that waits for this task to end; `released`: the task has ended. `streak`:
    the number of tasks in a row that failed. `last`: the run that ended last; None if none has ended."""

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
    last: EndedRun | None = None

    @property
    def schedule(self) -> Schedule:
        return self.definition.schedule(self.expected, self.fires)


@dataclass(frozen=True, slots=True)
class SpoiltSchedule:
    """A schedule whose record cannot be read, and the reason. `generation`: as stored; empty if the record has none."""

    schedule_id: str
    generation: str
    why: str


@dataclass(frozen=True, slots=True)
class Fire:
    """One planned run of a schedule (a fire): its moment and its task. `is_made`: the ledger already has this task."""

    scheduled_at: int
    task: Submission
    is_made: bool = False


@dataclass(frozen=True, slots=True)
class FireOrder:
    """An order to create tasks of one schedule. The store carries the order out only from `good_from` to `good_until`,
    and only if the schedule has not changed: its generation is still `generation`, and its expected or waiting moment
    is still `seen`. Then the store writes `following` and `due`, unless the order is for an `extra` run."""

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


class FireAnswer(StrEnum):
    """The store's answer to an order to create tasks of a schedule. The store refuses an order that was decided for
    another moment or definition."""

    FIRED = "fired"
    STALE = "stale"  # it was decided for another moment
    PAUSED = "paused"
    CHANGED = "changed"  # the schedule was set since
    GONE = "gone"
    NO_LIST = "no-list"  # the key of its lane is no list, so the schedule is paused
    HALTED = "halted"  # this host must create no tasks of schedules


class ScheduleAnswer(StrEnum):
    """The store's answer to an order about a schedule: what it did, or why it did nothing."""

    PAUSED = "paused"
    RESUMED = "resumed"
    REMOVED = "removed"
    ASIDE = "aside"
    RUNNING = "running"  # it was not paused
    CHANGED = "changed"  # it was set since
    UNKNOWN = "unknown"


class PutAnswer(StrEnum):
    """The store's answer to setting a schedule. FOREIGN and LATER occur only for a schedule that an application's code
    declares. The store then leaves the schedule unchanged."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    FOREIGN = "foreign"  # another application owns it, and its live workers declare it
    LATER = "later"  # a newer worker of this application has declared it; this worker asks again


@dataclass(frozen=True, slots=True)
class Put:
    """The store's answer to setting a schedule, and the moment of its next run (`expected`)."""

    word: PutAnswer
    generation: int
    expected: int | None


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A schedule that code has declared and that no live worker declares any more. `owner`: its application, or
    empty."""

    schedule_id: str
    owner: str

    @property
    def remedy(self) -> str:
        """The command that removes the schedule."""
        return f"supervisor schedules remove {shlex.quote(self.schedule_id)}"


@dataclass(frozen=True, slots=True)
class Retired:
    """The result of one step of the search for undeclared schedules. `removed`: the schedules that the store removed.
    `left`: the schedules that stay, although no live worker declares them.

    Pass `token` to the next step. `begins`: the search began again, so earlier steps do not count. `more`: the search
    has not ended.
    """

    token: str
    removed: tuple[Undeclared, ...] = ()
    left: tuple[Undeclared, ...] = ()
    begins: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """Schedules that are due at `now` by the store's clock, and milliseconds until the next one (None: there is none).
    `halted`: a halt keeps the caller from creating tasks of schedules, so it gets no schedules."""

    now: int
    records: tuple[ScheduleRecord, ...]
    wait: int | None
    spoilt: tuple[SpoiltSchedule, ...] = ()
    halted: bool = False


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """A page of schedules. `spoilt`: schedules whose records cannot be read. `cursor`: for the next page; empty at the
    end."""

    schedules: tuple[ScheduleRecord, ...]
    spoilt: tuple[SpoiltSchedule, ...] = ()
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A line of a schedule's history, for example that a run was started or skipped."""

    at: int
    what: Chronicle
    scheduled_at: int | None
    task: str
    detail: str


def read_misfire(text: str) -> Misfire | None:
    """Read `latest`, `skip` or `all:N`; None for anything else."""
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


# Decides the order for a schedule as it was found; the store carries the order out or refuses it.

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,90}")  # leaves room for a moment, and for the numbers of retries
_MOMENT = re.compile(r"@(\d{8}T\d{6}(?:\.\d{3})?Z)")

MakeTask = Callable[[ScheduleRecord, str], Submission]


def may_be_fire(task_id: str) -> bool:
    """False if this task id is certainly not the id of a schedule's task; True if it may be one."""
    return "@" in task_id


def fire_id(schedule_id: str, scheduled_at: int) -> str:
    """The id of the task for one planned run of a schedule. It depends only on the schedule and the planned moment, so
    every process makes the same id.

    If the schedule's id is too long, or has `@` or characters that a task id may not have, the task id contains the
    digest of the schedule's id instead. A task id with a digest begins with `@`. In any other task id, the only `@`
    stands before the moment. So no two schedules make the same task id.
    """
    name = schedule_id if _PLAIN.fullmatch(schedule_id) else f"@{sha1_hex(schedule_id.encode())}"
    fraction = f".{scheduled_at % 1000:03}" if scheduled_at % 1000 else ""
    return f"{name}@{local(scheduled_at, 'UTC'):%Y%m%dT%H%M%S}{fraction}Z"


def order_fire(record: ScheduleRecord, now: int, make: MakeTask) -> FireOrder | None:
    """The order for this schedule at `now`: the tasks to create, and the missed runs to record. None if there is
    nothing to do."""
    if record.paused:
        return None
    if record.pending is not None and record.released:
        return _order(record, record.pending, "waited", (_fire(record, record.pending, make),), now)
    decided = plan(record.schedule, now)
    if not decided.fires and decided.missed is None:
        return None
    fires = tuple(_fire(record, moment, make) for moment in decided.fires)
    return replace(
        _order(record, record.expected, "due", fires, now, _in_time(record.schedule, decided.fires, now)),
        following=decided.expected,
        due=None if decided.expected is None else due(record.schedule, decided.expected),
        missed=decided.missed,
        why=decided.why,
    )


def planned_moment(task_id: str) -> int | None:
    """The planned moment in the id of a schedule's task, in Unix milliseconds; None if the id has none."""
    found = _MOMENT.search(task_id)
    try:
        return read_moment(found[1], "UTC") if found else None
    except InvalidScheduleError:
        return None


def is_out_of_turn(record: ScheduleRecord, task_id: str) -> bool:
    """True if an operator asked for the run with this task: the rule has no such moment. A task from the time before
    the last change of the schedule may belong to another rule, so the answer is False then."""
    moment, schedule = planned_moment(task_id), record.definition.schedule(record.expected)
    if moment is None or moment < record.updated or isinstance(schedule.cadence, Continue | Stop):
        return False
    return expected_after(schedule, moment - 1) != moment


def out_of_turn(record: ScheduleRecord, now: int, make: MakeTask) -> FireOrder:
    """The order for one extra run that an operator asked for. The expected moment of the schedule stays the same."""
    return _order(record, record.expected, "extra", (_fire(record, now, make),), now)


def _order(
    record: ScheduleRecord, seen: int | None, kind: str, fires: tuple[Fire, ...], now: int, within: int = ON_TIME
) -> FireOrder:
    return FireOrder(record.definition.schedule_id, record.generation, seen, kind, now, now + within, fires)


def _in_time(schedule: Schedule, moments: tuple[int, ...], now: int) -> int:
    """The number of milliseconds after `now` during which an order for these planned moments stays valid."""
    deadline = schedule.policy.deadline
    if deadline is None or not moments:
        return ON_TIME
    return min(ON_TIME, *(due(schedule, moment) + deadline - now for moment in moments))


def _fire(record: ScheduleRecord, scheduled_at: int, make: MakeTask) -> Fire:
    return Fire(scheduled_at, make(record, fire_id(record.definition.schedule_id, scheduled_at)))
