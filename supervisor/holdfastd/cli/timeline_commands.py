"""The timeline commands, with the formats of a timeline scheduler: set, unset, tell, statuses, work, dispatch."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.core.cadence.moments import read_moment
from holdfast.core.words import counted
from holdfast.errors import UnknownScheduleError
from holdfast.timeline.jobs import NOTHING, jobs, set_job, spec_of, tell_job
from holdfast_config import logging
from holdfastd.cli.common import options, output
from holdfastd.cli.common.act_command import given_of, print_answer
from holdfastd.cli.common.handler_name import settings_with
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import settings_but
from holdfastd.cli.common.store_session import LONG_RETRIES, manage, operate, reach
from holdfastd.cli.job_csv import print_row
from holdfastd.operations.timeline_jobs import SET_JOB, UNSET_JOB

# Reads jobs from a CSV file with JOBID,SCHEDULE in each row, and sets them.


@dataclass(frozen=True, slots=True)
class JobRow:
    line: int
    jobid: str
    schedule: str


def read_rows(path: Path) -> list[JobRow]:
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


async def set_rows(manager: TaskManager, rows: list[JobRow], after: int | None) -> int:
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


def _row(path: Path, line: int, cells: list[str]) -> JobRow:
    if len(cells) != 2:
        raise click.UsageError(f"{path}: line {line}: {counted(len(cells), 'column')}; two are needed: JOBID,SCHEDULE")
    return JobRow(line, cells[0].strip(), cells[1].strip())


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
    from holdfastd.single.dispatch_process import (
        run as run_steward,  # slow to import; errors of the settings come first
    )

    return run_steward(settings, output.note)


# `supervisor set` and `supervisor unset`: the schedule of a job.


@rich_click.command(
    "set",
    help=SET_JOB.help,
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
def set_(session: Session, /, **given: Any) -> None:
    answer = operate(session, SET_JOB, given_of(given))
    print_answer(session, answer, lambda job: f"{job['jobid']}: {job['word']}, next {job['next'] or 'never'}")


@rich_click.command(help=UNSET_JOB.help, epilog="Example: supervisor unset crawl:A")
@click.argument("jobid", metavar="JOBID")
@options.store
@options.pass_timeline_session
def unset(session: Session, /, jobid: str) -> None:
    answer = operate(session, UNSET_JOB, {"jobid": jobid})
    print_answer(session, answer, lambda job: f"{job['jobid']}: {job['word']}")


# `supervisor statuses`: prints the status of all jobs.


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


# `supervisor tell`: prints the status of one job.


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


# `supervisor work`: runs one worker in the foreground.


@rich_click.command(
    epilog="Examples:\n\nsupervisor work 'mymodule:Worker(\"A:A:B\")'\n\nsupervisor work --config x.conf"
)
@click.argument("worker", required=False)
@settings_but("workers", "reload", "preload", "burst", "metrics")
@options.common
@options.pass_timeline_session
def work(session: Session, /, worker: str | None) -> int:
    """Run one worker in the foreground, one task at a time unless --concurrency says otherwise.

    WORKER is a class of holdfast.timeline called with literals, or any handler. Default: that of the settings. The
    worker also fires schedules that are due. Any number may run at once. SIGTERM or Ctrl-C ends it after its running
    task. It is not restarted when it dies: use `supervisor start` for that.
    """
    settings = settings_with(session, worker)
    reach(session)
    from holdfastd.single.work_process import run as run_worker  # slow to import; errors of the settings come first

    return run_worker(settings, output.note)
