"""Sets, removes and shows jobs, which are schedules of a TaskManager."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_definition import check_schedule_id
from holdfast.core.plain_json import shown
from holdfast.core.schedule_records import Put, ScheduleRecord
from holdfast.errors import InvalidScheduleError, UnknownScheduleError, UnknownTaskError
from holdfast.timeline.job import STOP, USUAL, JobEvent, JobKind, JobStatus, has_run, schedule_of, spec_of, status

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
    """Give a job its schedule; a due run is queued at once. Fires up to `after` (ms, default now) count as made. Raises
    InvalidScheduleError and writes nothing.
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
