"""`supervisor dispatch`: runs one steward in the foreground."""

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
    help="CSV file of JOBID,SCHEDULE to set before the start.",
)
@click.option("-a", "--after", metavar="TIME", help="With --schedules: skip fires up to this time.")
@settings_but("workers", "reload", "preload", "burst")
@options.common
@options.pass_timeline_session
def dispatch(session: Session, /, worker: str | None, schedules: Path | None, after: str | None) -> int:
    """Run one steward in the foreground: it fires schedules, recovers tasks of dead workers, and wakes workers.

    Any number of stewards may run, also beside `supervisor start`. WORKER names the lanes that it watches for pushed
    entries, as for `supervisor work`. SIGTERM or Ctrl-C ends it.
    """
    if after is not None and schedules is None:
        raise click.UsageError("--after needs --schedules")
    session.flags["handler"] = worker
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    moment = None if after is None else read_moment(after, "UTC")
    rows = [] if schedules is None else read_rows(schedules)
    reach(session)
    if rows:
        number = manage(session, lambda manager: set_rows(manager, rows, moment))
        output.note(f"{counted(number, 'schedule')} set")
    from holdfastd.single.steward import run  # slow to import; errors of the settings come first

    return run(settings, output.note)
