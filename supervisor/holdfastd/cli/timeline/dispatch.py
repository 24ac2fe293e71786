"""`supervisor dispatch`: runs one steward in the foreground."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.cadence.moments import read_moment
from holdfast.core.words import counted
from holdfast.timeline.job import spec_of
from holdfast.timeline.jobs import set_job
from holdfast_config import logging
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import settings_but
from holdfastd.cli.common.store_session import manage, reach

# Reads jobs from a CSV file with JOBID,SCHEDULE in each row, and sets them.


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    jobid: str
    schedule: str


def read_rows(path: Path) -> list[Row]:
    """The rows of a file. Raises click.UsageError with the number of a wrong line."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [_row(path, reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise click.UsageError(f"{path}: line {reader.line_num}: {error}") from None
    lines = dict[str, int]()
    for row in rows:
        if (first := lines.setdefault(row.jobid, row.line)) != row.line:
            raise click.UsageError(
                f"{path}: line {row.line}: {row.jobid!r} is already in line {first}; a job may appear once"
            )
    return rows


async def set_rows(manager: TaskManager, rows: list[Row], after: int | None) -> int:
    """Set all jobs and return their number. Raises InvalidScheduleError for a wrong one before any is set."""
    for row in rows:
        try:
            await manager.schedules.check(row.jobid, spec_of(row.jobid, row.schedule))
        except ValueError as error:
            error.add_note(f"line {row.line} of the CSV; nothing was set")
            raise
    for row in rows:
        await set_job(manager, row.jobid, row.schedule, after)
    return len(rows)


def _row(path: Path, line: int, cells: list[str]) -> Row:
    if len(cells) != 2:
        raise click.UsageError(f"{path}: line {line}: {counted(len(cells), 'column')}; two are needed: JOBID,SCHEDULE")
    return Row(line, cells[0].strip(), cells[1].strip())


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
    from holdfastd.single.dispatch_process import run  # slow to import; errors of the settings come first

    return run(settings, output.note)
