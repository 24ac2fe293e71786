"""Acts on the jobs of the timeline commands: set and unset."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import msgspec
from msgspec import Meta

from holdfast.core.cadence.moments import read_moment
from holdfast.timeline.jobs import JobKind, set_job, unset_job
from holdfastd.documents import printed_times
from holdfastd.operations.act import Act, Doing

JobId = Annotated[str, Meta(description="Id of the job. The part after its last colon is the lane of the job.")]


class SetJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The job, when it runs, and how. `timeout`: seconds."""

    jobid: JobId
    schedule: Annotated[str, Meta(description="A recurrence rule, NOW, AT:<time>, CONTINUE or STOP.")]
    after: Annotated[str | None, Meta(description="Skip fires of a rule up to this time. Default: now.")] = None
    on_failure: Annotated[Literal["stop", "continue"], Meta(description="After a failed run: stop or continue.")] = (
        "stop"
    )
    max_attempts: Annotated[int, Meta(description="Number of attempts of one run.")] = 1
    timeout: Annotated[
        float | None, Meta(description="Maximum time of a run. Default: that of its worker, or 10 s.")
    ] = None


class ChosenJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The job."""

    jobid: JobId


class JobWord(TypedDict):
    jobid: str
    word: str


class SetJobAnswer(JobWord):
    """`word`: new, changed or same; `next`: the next run."""

    next: printed_times.Moment | None


async def set_one_job(doing: Doing, given: SetJob) -> SetJobAnswer:
    """Set the schedule of a job: a recurrence rule, NOW, AT:<time>, CONTINUE or STOP. Times are in UTC.

    The part of JOBID after its last colon is the lane of the job. The handler gets JOBID as the message. A run that
    fails or takes too long ends the job.
    """
    after = None if given.after is None else read_moment(given.after, "UTC")
    manner = JobKind(given.on_failure, given.max_attempts, given.timeout)
    put = await set_job(doing.manager, given.jobid, given.schedule, after, manner)
    return {"jobid": given.jobid, "word": put.word, "next": printed_times.utc(put.expected)}


async def unset_one_job(doing: Doing, given: ChosenJob) -> JobWord:
    """Remove a job and its schedule. A run in progress completes, a waiting one is canceled."""
    await unset_job(doing.manager, given.jobid)
    return {"jobid": given.jobid, "word": "unset"}


SET_JOB = Act("jobs/set", SetJob, set_one_job, "jobid")
UNSET_JOB = Act("jobs/unset", ChosenJob, unset_one_job, "jobid")
