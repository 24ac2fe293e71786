"""`supervisor tell`: prints the status of one job."""

from __future__ import annotations

import click
import rich_click

from holdfast.errors import UnknownScheduleError
from holdfast.timeline.jobs import NOTHING, tell_job
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage


@rich_click.command(epilog="Example: supervisor tell crawl:A")
@click.argument("jobid", metavar="JOBID")
@options.store
@options.pass_timeline_session
def tell(session: Session, /, jobid: str) -> None:
    """Print the status of a job as JSON: status, next_run (Unix seconds), schedule, working.

    The status is TML (waits for its time), ENQ (queued), WRK (runs), STP (stopped), DIE (a run failed) or BAD (cannot
    be run), with the time of its start. For an unknown job all values are null and the exit status is 1.
    """
    try:
        job = manage(session, lambda manager: tell_job(manager, jobid))
    except UnknownScheduleError:
        output.document(NOTHING)
        raise
    output.document(job.document)
