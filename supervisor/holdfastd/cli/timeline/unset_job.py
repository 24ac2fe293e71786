"""`supervisor unset`: a job is forgotten."""

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
    """Take a job out of rotation: a run that goes on is completed, one that waits is taken back."""
    manage(session, lambda manager: unset_job(manager, jobid))
    if session.json:
        output.document({"jobid": jobid, "word": "unset"})
    else:
        output.text(f"{jobid}: unset")
