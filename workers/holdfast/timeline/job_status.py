"""Computes a job's status (TML, ENQ, BAD, WRK, STP or DIE) from its schedule and its last task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord

_FIRES = frozenset({"fired", "waits", "skipped"})  # lines of a history that leave the job's run as it is
_WAITING = frozenset({State.SUBMITTED, State.DELAYED, State.WAITING})
_BAD = "cannot be fired"  # the reason of a pause by a steward
_FAILED = "its task "  # as shared/schedules.lua begins it


class JobEvent(StrEnum):
    TIMELINE = "TML"
    ENQUEUED = "ENQ"
    BAD = "BAD"
    WORKED = "WRK"
    STOPPED = "STP"
    DIED = "DIE"


@dataclass(frozen=True, slots=True)
class JobStatus:
    """`since` is Unix seconds."""

    event: JobEvent
    since: int

    def __str__(self) -> str:
        return f"{self.event}:{self.since}"


def has_run(newest: Occurrence | None) -> bool:
    """True if the job's last task decides its status."""
    return newest is not None and newest.what in _FIRES


def status(record: ScheduleRecord, newest: Occurrence | None, task: TaskRecord | None) -> JobStatus:
    """`newest` is the last line of its history; `task` its last task, where that line leaves it open."""
    if task is not None and task.state not in TERMINAL:
        event = JobEvent.ENQUEUED if task.state in _WAITING else JobEvent.WORKED
        return JobStatus(event, _changed(task) // 1000)
    return JobStatus(_at_rest(record), (record.updated if newest is None else newest.at) // 1000)


def _at_rest(record: ScheduleRecord) -> JobEvent:
    if record.paused.startswith(_BAD):
        return JobEvent.BAD
    if record.ended.startswith(_FAILED):
        return JobEvent.DIED
    return JobEvent.STOPPED if record.ended or record.paused else JobEvent.TIMELINE


def _changed(task: TaskRecord) -> int:
    """The time of its last transition, in ms: the last line of its trail begins with it."""
    return int(task.trail[-1].partition(" ")[0]) if task.trail else task.created_ms
