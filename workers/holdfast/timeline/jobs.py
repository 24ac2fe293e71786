"""Jobs: sets, removes and shows them. A job is a schedule of the queue. A job's id may end in the name of its lane, as
in `JOB1:A`. A job's rule is a text: NOW, AT:<time>, CONTINUE, STOP or a recurrence rule."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_definition import ScheduleSpec, check_schedule_id
from holdfast.core.cadence import restored
from holdfast.core.cadence.moments import At, Continue, Stop
from holdfast.core.envelope import USUAL_TIMEOUT
from holdfast.core.plain_json import shown
from holdfast.core.schedule_records import Occurrence, Put, ScheduleRecord
from holdfast.core.schedules import Overlap
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import Chronicle
from holdfast.errors import InvalidScheduleError, UnknownScheduleError, UnknownTaskError

STOP = "STOP"
USUAL_SECONDS = 10.0

_RULES = ("FREQ=", "RDATE")
_BY_HANDLER = "its handler stopped it"  # the text that shared/schedules.lua writes

# Options of a schedule that may have any value in a job.
_BESIDE = (
    *("schedule", "rrule", "at", "timezone", "owner", "overlap"),
    *("timeout", "max_attempts", "lane", "metadata", "text"),
)

_read_spec = msgspec.json.Decoder(ScheduleSpec).decode


@dataclass(frozen=True, slots=True)
class JobKind:
    """Options for the runs of a job. `timeout` is in seconds. None: the timeout of the worker class, the lane or the
    settings counts, else 10 s."""

    on_failure: str = "stop"
    max_attempts: int = 1
    timeout: float | None = None


USUAL = JobKind()


def lane_of(jobid: str) -> str | None:
    """The lane of a job: the part of its id after the last colon. None means the public queue."""
    _, colon, lane = jobid.rpartition(":")
    return lane if colon else None


def spec_of(jobid: str, schedule: str, manner: JobKind = USUAL) -> ScheduleSpec:
    """The spec of the schedule to store for a job. The handler gets the job's id as text.

    If a recurrence rule is due while a run of the job goes on, this time is skipped. A single run (NOW, AT) waits for
    the end of the run before.
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
    """True if `set_job` could have made this schedule: it has a text, and only options that jobs can have."""
    spec = _read_spec(record.definition.spec)
    jobid = record.definition.schedule_id
    job = spec_of(jobid, spec.schedule or "", JobKind(spec.on_failure, spec.max_attempts or 1))
    beside = dict.fromkeys(_BESIDE, None)
    is_same = msgspec.structs.replace(spec, **beside) == msgspec.structs.replace(job, **beside)
    return is_same and spec.text is not None


def schedule_of(record: ScheduleRecord) -> str | None:
    """The schedule as a text that `set_job` takes; None for a schedule without such a text (cron, every)."""
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


# Compute a job's status (TML, ENQ, BAD, WRK, STP or DIE) from its schedule and its last task.

_FIRES = frozenset(
    {Chronicle.FIRED, Chronicle.WAITS, Chronicle.SKIPPED}
)  # lines of the history after which the job's last task still decides its status
_WAITING = frozenset({State.SUBMITTED, State.DELAYED, State.WAITING})
_BAD = "cannot be fired"  # the reason of a pause by a steward
_FAILED = "its task "  # the beginning of the text that shared/schedules.lua writes


class JobEvent(StrEnum):
    TIMELINE = "TML"
    ENQUEUED = "ENQ"
    BAD = "BAD"
    WORKED = "WRK"
    STOPPED = "STP"
    DIED = "DIE"


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The status of a job, and the Unix time in seconds since which the job has it."""

    event: JobEvent
    since: int

    def __str__(self) -> str:
        return f"{self.event}:{self.since}"


def has_run(newest: Occurrence | None) -> bool:
    """True if the job's status depends on its last task, and not on the schedule alone."""
    return newest is not None and newest.what in _FIRES


def status(record: ScheduleRecord, newest: Occurrence | None, task: TaskRecord | None) -> JobStatus:
    """The status of a job. `newest`: the last line of its history. `task`: its last task if `has_run(newest)`; None if
    the schedule alone decides the status."""
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
    """The Unix time, in milliseconds, of the task's last change of state. The last line of its history begins with this
    time."""
    return int(task.trail[-1].partition(" ")[0]) if task.trail else task.created_ms


PAGE = 500


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """A job with its status. `next_run`: Unix seconds; None if the job has no next run."""

    jobid: str
    status: JobStatus
    schedule: str | None
    next_run: int | None

    @property
    def document(self) -> dict[str, object]:
        is_working = self.status.event is JobEvent.WORKED
        return {
            "status": str(self.status),
            "next_run": self.next_run,
            "schedule": self.schedule,
            "working": is_working,
        }


NOTHING: dict[str, object] = {"status": None, "next_run": None, "schedule": None, "working": False}


async def set_job(
    manager: TaskManager, jobid: str, schedule: object, after: int | None = None, manner: JobKind = USUAL
) -> Put:
    """Set the schedule of a job. If a run is due, its task is submitted at once.

    Planned runs up to `after` (Unix milliseconds, default now) are skipped. Raises InvalidScheduleError before anything
    is written.
    """
    if not isinstance(schedule, str):  # callers need not be typed
        raise InvalidScheduleError(f"schedule {shown(schedule)}: NOW, AT:<time>, CONTINUE, STOP or a rule is expected")
    spec = spec_of(check_schedule_id(jobid), schedule, manner)
    put = await manager.schedules.put(jobid, spec, again=True, after=after)
    with suppress(UnknownScheduleError):  # a worker may have run the job meanwhile, and its handler has removed the job
        await manager.schedules.begin(jobid)
    return put


async def unset_job(manager: TaskManager, jobid: str) -> None:
    """Remove a job. A run that has begun is completed; a run that still waits is canceled. Raises
    UnknownScheduleError."""
    await manager.schedules.get(jobid)
    await manager.schedules.put(jobid, spec_of(jobid, STOP), again=True)  # cancels a run that still waits
    await manager.schedules.remove(jobid)


async def tell_job(manager: TaskManager, jobid: str) -> JobAnswer:
    """Read a job with its status. Raises UnknownScheduleError."""
    return await _answer(manager, await manager.schedules.get(jobid))


async def jobs(manager: TaskManager) -> AsyncGenerator[JobAnswer]:
    """Yield all jobs, the next to run first."""
    async with aclosing(records(manager)) as listed:
        async for record in listed:
            try:
                yield await _answer(manager, record)
            except UnknownScheduleError:
                continue  # unset meanwhile


async def records(manager: TaskManager) -> AsyncGenerator[ScheduleRecord]:
    """Yield the schedule of every job, once."""
    seen: set[str] = set()
    cursor = ""
    while True:
        page = await manager.schedules.list(PAGE, cursor)
        for record in page.schedules:
            name = record.definition.schedule_id
            if name not in seen:  # a schedule whose place in the list changes meanwhile may come twice
                seen.add(name)
                yield record
        if not (cursor := page.cursor):
            return


async def _answer(manager: TaskManager, record: ScheduleRecord) -> JobAnswer:
    jobid = record.definition.schedule_id
    newest = next(iter(await manager.schedules.history(jobid, 1)), None)
    task = None
    if record.task and has_run(newest):
        with suppress(UnknownTaskError):  # the task ended so long ago that the store has deleted it
            task = await manager.get_task(record.task)
    due = record.due if record.due is not None else record.expected
    return JobAnswer(jobid, status(record, newest, task), schedule_of(record), None if due is None else due // 1000)
