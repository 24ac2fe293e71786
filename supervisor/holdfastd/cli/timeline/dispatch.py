"""`supervisor dispatch`: a steward, in the foreground."""

from __future__ import annotations

from pathlib import Path

import click
import rich_click

from holdfast.core.cadence.moments import read_moment
from holdfast.core.plurals import counted
from holdfast_config import logging
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import settings_but
from holdfastd.cli.common.store_session import manage, reach
from holdfastd.cli.timeline.job_file import read_rows, set_rows


@rich_click.command(
    epilog="Examples:\n\nsupervisor dispatch\n\n"
    "supervisor dispatch --config x.conf --schedules jobs.csv --after 1767225600"
)
@click.argument("worker", required=False)
@click.option(
    "-s",
    "--schedules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV of JOBID,SCHEDULE, set before it begins.",
)
@click.option("-a", "--after", metavar="TIME", help="For those: what rules say up to this moment counts as made.")
@settings_but("workers", "reload", "preload", "burst")
@options.common
@options.pass_timeline_session
def dispatch(session: Session, /, worker: str | None, schedules: Path | None, after: str | None) -> int:
    """Run a steward alone: it makes the fires of schedules, recovers tasks of dead workers and rings for producers.

    Any number of them may run, beside those of `supervisor start`. WORKER names the lanes it listens on for producers,
    as the workers' does. SIGTERM or Ctrl-C ends it.
    """
    if after is not None and schedules is None:
        raise click.UsageError("--after is for the jobs of --schedules")
    session.flags["handler"] = worker
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    moment = None if after is None else read_moment(after, "UTC")
    rows = [] if schedules is None else read_rows(schedules)
    reach(session)
    if rows:
        number = manage(session, lambda manager: set_rows(manager, rows, moment))
        output.note(f"{counted(number, 'schedule')} set")
    from holdfastd.single.steward import run  # slow to import, and bad settings should be told at once

    return run(settings, output.note)
