"""`supervisor set`: sets the schedule of a job."""

from __future__ import annotations

import click
import rich_click

from holdfast.core.cadence.moments import read_moment
from holdfast.timeline.job import JobKind
from holdfast.timeline.jobs import set_job
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.documents import times


@rich_click.command(
    "set",
    epilog="Examples:\n\nsupervisor set crawl:A CONTINUE\n\n"
    "supervisor set report:B 'RRULE:FREQ=DAILY'\n\nsupervisor set report:B AT:1767225600",
)
@click.argument("jobid", metavar="JOBID")
@click.argument("schedule", metavar="SCHEDULE")
@click.option("-a", "--after", metavar="TIME", help="Skip fires of a rule up to this time. Default: now.")
@click.option(
    "--on-failure",
    type=click.Choice(["stop", "continue"]),
    default="stop",
    show_default=True,
    help="After a failed run: stop or continue.",
)
@click.option(
    "--max-attempts", type=int, default=1, show_default=True, metavar="N", help="Number of attempts of one run."
)
@click.option(
    "--timeout", type=DURATION, metavar="DURATION", help="Maximum time of a run. Default: that of its worker, or 10 s."
)
@options.store
@options.pass_timeline_session
def set_(
    session: Session,
    /,
    jobid: str,
    schedule: str,
    after: str | None,
    on_failure: str,
    max_attempts: int,
    timeout: float | None,
) -> None:
    """Set the schedule of a job: a recurrence rule, NOW, AT:<time>, CONTINUE or STOP. Times are in UTC.

    The part of JOBID after its last colon is the lane of the job. The handler gets JOBID as the message. A run that
    fails or takes too long ends the job.
    """
    moment = None if after is None else read_moment(after, "UTC")
    manner = JobKind(on_failure, max_attempts, timeout)
    put = manage(session, lambda manager: set_job(manager, jobid, schedule, moment, manner))
    answer = {"jobid": jobid, "word": put.word, "next": times.utc(put.expected)}
    if session.json:
        output.document(answer)
    else:
        output.text(f"{jobid}: {put.word}, next {answer['next'] or 'never'}")
