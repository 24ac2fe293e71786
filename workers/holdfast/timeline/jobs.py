"""Jobs: ids with their lanes, whose schedules in words are schedules of a TaskManager; set, removed and shown."""

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
_BY_HANDLER = "its handler stopped it"  # as shared/schedules.lua writes it

# Options that jobs may have in any way.
_BESIDE = (
    *("schedule", "rrule", "at", "timezone", "owner", "overlap"),
    *("timeout", "max_attempts", "lane", "metadata", "text"),
)

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
    """The schedule to store for a job; its handler gets the id as text.

    If a fire of a rule is due during a run, it is skipped; a single run waits for that run to end.
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
    beside = dict.fromkeys(_BESIDE, None)
    is_same = msgspec.structs.replace(spec, **beside) == msgspec.structs.replace(job, **beside)
    return is_same and spec.text is not None


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

_FIRES = frozenset(
    {Chronicle.FIRED, Chronicle.WAITS, Chronicle.SKIPPED}
)  # lines of a history that leave the job's run as it is
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


PAGE = 500


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """A job. `next_run` in Unix seconds; None if unknown."""

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
    """Give a job its schedule; a due run is queued at once.

    Fires up to `after` (ms, default now) count as made. Raises InvalidScheduleError and writes nothing.
    """
    if not isinstance(schedule, str):  # a program may hand over anything
        raise InvalidScheduleError(f"schedule {shown(schedule)}: NOW, AT:<time>, CONTINUE, STOP or a rule is expected")
    spec = spec_of(check_schedule_id(jobid), schedule, manner)
    put = await manager.schedules.put(jobid, spec, again=True, after=after)
    with suppress(UnknownScheduleError):  # a worker was quicker: it has run the job, and the run has removed it
        await manager.schedules.begin(jobid)
    return put


async def unset_job(manager: TaskManager, jobid: str) -> None:
    """Remove a job; its present run is completed, a waiting one is canceled. Raises UnknownScheduleError."""
    await manager.schedules.get(jobid)
    await manager.schedules.put(jobid, spec_of(jobid, STOP), again=True)  # takes back what waits
    await manager.schedules.remove(jobid)


async def tell_job(manager: TaskManager, jobid: str) -> JobAnswer:
    """The job with its status. Raises UnknownScheduleError."""
    return await _answer(manager, await manager.schedules.get(jobid))


async def jobs(manager: TaskManager) -> AsyncGenerator[JobAnswer]:
    """All jobs, the next to run first."""
    async with aclosing(records(manager)) as listed:
        async for record in listed:
            try:
                yield await _answer(manager, record)
            except UnknownScheduleError:
                continue  # unset meanwhile


async def records(manager: TaskManager) -> AsyncGenerator[ScheduleRecord]:
    """The schedule of every job, once."""
    seen: set[str] = set()
    cursor = ""
    while True:
        page = await manager.schedules.list(PAGE, cursor)
        for record in page.schedules:
            name = record.definition.schedule_id
            if name not in seen:  # one whose place in the list has changed is met again
                seen.add(name)
                yield record
        if not (cursor := page.cursor):
            return


async def _answer(manager: TaskManager, record: ScheduleRecord) -> JobAnswer:
    jobid = record.definition.schedule_id
    newest = next(iter(await manager.schedules.history(jobid, 1)), None)
    task = None
    if record.task and has_run(newest):
        with suppress(UnknownTaskError):  # it ended so long ago that it was deleted
            task = await manager.get_task(record.task)
    due = record.due if record.due is not None else record.expected
    return JobAnswer(jobid, status(record, newest, task), schedule_of(record), None if due is None else due // 1000)
