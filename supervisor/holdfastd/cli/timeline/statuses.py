"""`supervisor statuses`: prints the status of all jobs."""

from __future__ import annotations

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.cadence.moments import read_moment
from holdfast.timeline.jobs import jobs
from holdfastd.cli.common import options
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, manage
from holdfastd.cli.views.job_csv import print_row


@rich_click.command(epilog="Example: supervisor statuses --before $(date -d -1day +%s)")
@click.option("-b", "--before", metavar="TIME", help="Only jobs that got their status at this time or before.")
@options.store
@options.pass_timeline_session
def statuses(session: Session, /, before: str | None) -> None:
    """Print JOBID,EVENT:TIMESTAMP for each job: its status (TML, ENQ, WRK, STP, DIE or BAD) and its start (Unix time).

    `supervisor tell --help` explains the statuses.
    """
    latest = None if before is None else read_moment(before, "UTC") / 1000

    async def work(manager: TaskManager) -> None:
        async for job in jobs(manager):
            if latest is None or job.status.since <= latest:
                print_row(job.jobid, str(job.status))

    manage(session, work, LONG_RETRIES)
