"""Turns a job (an id with its lane, and a schedule in words) into a schedule of the store, and back."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from holdfast.client.schedule_spec import ScheduleSpec
from holdfast.core.cadence import restored
from holdfast.core.cadence.once import At, Continue, Stop
from holdfast.core.operations import USUAL_TIMEOUT
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.core.schedules import Overlap

STOP = "STOP"
USUAL_SECONDS = 10.0

_RULES = ("FREQ=", "RDATE")
_BY_HANDLER = "its handler stopped it"  # as shared/schedules.lua writes it

_read_spec = msgspec.json.Decoder(ScheduleSpec).decode


@dataclass(frozen=True, slots=True)
class JobKind:
    """Options of a job's runs. `timeout` in seconds; None: as its worker, its lane or the settings say, else 10 s."""

    on_failure: str = "stop"
    max_attempts: int = 1
    timeout: float | None = None


USUAL = JobKind()


def lane_of(jobid: str) -> str | None:
    """The lane that the job's id names behind its last colon; None: the public queue."""
    _, colon, lane = jobid.rpartition(":")
    return lane if colon else None


def spec_of(jobid: str, schedule: str, manner: JobKind = USUAL) -> ScheduleSpec:
    """The schedule to store for a job; its handler gets the id as text.

    A fire of a rule that comes due while a run goes on is skipped; a single run waits for that one to end.
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
    """True if `set` can make this schedule: beside its times it has a text, and no option that a job has not."""
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
    """The words that `set` takes for this schedule; None if there are none (cron, every)."""
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
