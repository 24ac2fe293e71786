"""Turns a job (an id with its lane, and a schedule in words) into a schedule of the store, and back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.cadence import restored
from holdfast.core.cadence.moments import At, Continue, Stop
from holdfast.core.envelope import USUAL_TIMEOUT
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfast.core.schedules import Overlap
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord

STOP = "STOP"
USUAL_SECONDS = 10.0

_RULES = ("FREQ=", "RDATE")
_BY_HANDLER = "its handler stopped it"  # as shared/schedules.lua writes it

_read_spec = msgspec.json.Decoder(ScheduleSpec).decode


@dataclass(frozen=True, slots=True)
class JobKind:
    """Options of a job's runs. `timeout` in seconds; None: that of its worker, its lane or the settings, else 10 s."""

    on_failure: str = "stop"
    max_attempts: int = 1
    timeout: float | None = None


USUAL = JobKind()


def lane_of(jobid: str) -> str | None:
    """The lane of a job: the part of its id after the last colon; None: the public queue."""
    _, colon, lane = jobid.rpartition(":")
    return lane if colon else None


def spec_of(jobid: str, schedule: str, manner: JobKind = USUAL) -> ScheduleSpec:
    """The schedule to store for a job; its handler gets the id as text. If a fire of a rule is due during a run, it is
    skipped; a single run waits for that run to end.
    """
    recurs = any(word in schedule.upper() for word in _RULES)
    return ScheduleSpec(
        schedule=schedule,
        overlap=Overlap.FORBID if recurs else Overlap.QUEUE_ONE,
        on_failure=manner.on_failure,
        text=jobid,
        lane=lane_of(jobid),
        max_attempts=manner.max_attempts,
        timeout=manner.timeout,
        metadata={USUAL_TIMEOUT: USUAL_SECONDS},
    )


def is_job(record: ScheduleRecord) -> bool:
    """True if `set` can make this schedule: it has a text, and no options that jobs do not have."""
    spec = _read_spec(record.definition.spec)
    jobid = record.definition.schedule_id
    job = spec_of(jobid, spec.schedule or "", JobKind(spec.on_failure, spec.max_attempts or 1))
    beside: dict[str, object] = {
        "schedule": None,
        "rrule": None,
        "at": None,
        "timezone": "UTC",
        "owner": "",
        "overlap": job.overlap,
    }
    beside |= {"timeout": None, "max_attempts": job.max_attempts, "lane": None, "metadata": None}
    beside |= {} if spec.text is None else {"text": jobid}
    return msgspec.structs.replace(spec, **beside) == msgspec.structs.replace(job, **beside)


def schedule_of(record: ScheduleRecord) -> str | None:
    """The schedule in the form that `set` takes; None if it has none (cron, every)."""
    spec = _read_spec(record.definition.spec)
    is_once = isinstance(cadence := restored(record.definition.cadence), At)
    if record.ended and (is_once or record.ended == _BY_HANDLER):
        return STOP
    match cadence:
        case At(moment):
            is_now = (spec.schedule or "").strip().upper() == "NOW"
            return "NOW" if is_now else f"AT:{_seconds(moment)}"
        case Continue():
            return "CONTINUE"
        case Stop():
            return STOP
        case _:
            return (spec.schedule or spec.rrule) if spec.timezone == "UTC" else None


def _seconds(moment: int) -> str:
    return f"{moment / 1000:.3f}" if moment % 1000 else str(moment // 1000)


# Computes a job's status (TML, ENQ, BAD, WRK, STP or DIE) from its schedule and its last task.

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
    """The status of a job. `newest` is the last line of its history; `task` is its last task, if that line does not
    decide the status."""
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
