"""`supervisor unset`: removes the schedule of a job."""

from __future__ import annotations

import click
import rich_click

from holdfast.timeline.jobs import unset_job
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage


@rich_click.command(epilog="Example: supervisor unset crawl:A")
@click.argument("jobid", metavar="JOBID")
@options.store
@options.pass_timeline_session
def unset(session: Session, /, jobid: str) -> None:
    """Remove a job and its schedule. A run in progress completes, a waiting one is canceled."""
    manage(session, lambda manager: unset_job(manager, jobid))
    if session.json:
        output.document({"jobid": jobid, "word": "unset"})
    else:
        output.text(f"{jobid}: unset")
