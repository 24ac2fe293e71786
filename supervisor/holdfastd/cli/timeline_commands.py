"""The commands of `supervisor timeline`: set, unset, tell, statuses, work, dispatch and control.

They read and print the formats of a timeline scheduler, in which each is a command of its own. So `supervisor set` is
the same as `supervisor timeline set`.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from holdfast.client.manager import TaskManager
from holdfast.core.cadence.moments import read_moment
from holdfast.core.words import counted
from holdfast.errors import UnknownScheduleError
from holdfast.timeline.jobs import NOTHING, is_job, jobs, records, schedule_of, set_job, spec_of, tell_job
from holdfast_config import logging
from holdfastd.cli.common import Session, options, output, parameters
from holdfastd.cli.common.setting_flags import settings_but
from holdfastd.cli.common.store_session import LONG_RETRIES, command_of, given_of, manage, operate, reach
from holdfastd.cli.host_commands import control
from holdfastd.cli.start import settings_with
from holdfastd.operations.timeline_jobs import SET_JOB, UNSET_JOB

# Reads jobs from a CSV file with JOBID,SCHEDULE in each row, and sets them.


@dataclass(frozen=True, slots=True)
class JobRow:
    """One row of the CSV file: its line number, the job and its schedule."""

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


@options.command(
    epilog="Examples:\n\nsupervisor timeline dispatch\n\n"
    "supervisor timeline dispatch --config x.conf --schedules jobs.csv --after 1767225600"
)
@click.argument("worker", required=False)
@click.option(
    "-s",
    "--schedules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV file with a row JOBID,SCHEDULE for each job; the jobs are set before the first is dispatched.",
)
@click.option("-a", "--after", metavar="TIME", help="With --schedules: skip fires up to this time.")
@settings_but("workers", "reload", "preload", "burst")
@options.common
@options.pass_timeline_session
def dispatch(session: Session, /, worker: str | None, schedules: Path | None, after: str | None) -> int:
    """Run one steward in the foreground: it fires schedules, recovers tasks of dead workers, and wakes workers.

    Any number of stewards may run, also beside `supervisor start`. WORKER is the same as for `supervisor work`: the
    steward watches the lanes of this worker for entries that producers push. SIGTERM or Ctrl-C ends the steward.
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
    from holdfastd.single import dispatch_process  # slow to import; errors of the settings come first

    return dispatch_process.run(settings, output.note)


# `supervisor set` and `supervisor unset`: the schedule of a job.

jobid_argument = click.argument("jobid", metavar="JOBID")


@options.command(
    "set",
    help=SET_JOB.help,
    epilog="Examples:\n\nsupervisor timeline set crawl:A CONTINUE\n\n"
    "supervisor timeline set report:B 'RRULE:FREQ=DAILY'\n\nsupervisor timeline set report:B AT:1767225600",
)
@jobid_argument
@click.argument("schedule", metavar="SCHEDULE")
@click.option("-a", "--after", metavar="TIME", help="Skip fires of a rule up to this time. Default: now.")
@click.option(
    "--on-failure",
    type=click.Choice(["stop", "continue"]),
    default="stop",
    show_default=True,
    help="What the schedule does after a failed run: stop or continue.",
)
@click.option(
    "--max-attempts", type=int, default=1, show_default=True, metavar="N", help="Number of attempts of one run."
)
@click.option(
    "--timeout",
    type=parameters.DURATION,
    metavar="DURATION",
    help="Maximum time of a run. Default: the timeout that its worker sets, or 10 s.",
)
@options.timeline
def set_(session: Session, /, **given: Any) -> None:
    answer = operate(session, SET_JOB, given_of(given))
    session.answer(answer, f"{answer['jobid']}: {answer['word']}, next {answer['next'] or 'never'}")


unset = command_of(
    UNSET_JOB,
    "unset",
    lambda job: f"{job['jobid']}: {job['word']}",
    "Example: supervisor timeline unset crawl:A",
    own={"jobid": jobid_argument},
    adds=options.timeline,
)


# Jobs as CSV, for `statuses` and `schedules --csv`.


def print_row(*cells: str) -> None:
    """Print one CSV row; control characters are escaped."""
    row = io.StringIO()
    csv.writer(row, lineterminator=output.LINE_END).writerow(
        [output.safe(cell, keep=output.LINE_END) for cell in cells]
    )
    click.echo(row.getvalue(), nl=False)


def print_schedules(session: Session) -> None:
    """Print the jobs as `supervisor set` takes them, and a remark on the schedules that it cannot set."""

    async def work(manager: TaskManager) -> int:
        others = 0
        async for record in records(manager):
            schedule = schedule_of(record) if is_job(record) else None
            if schedule is None:
                others += 1
            else:
                print_row(record.definition.schedule_id, schedule)
        return others

    if others := manage(session, work, LONG_RETRIES):
        output.note(
            f"{counted(others, 'schedule')} left out: CSV cannot express cron, every, time zones and options of tasks; "
            "see `supervisor schedules list`"
        )


# `supervisor statuses`: prints the status of all jobs.


@options.command(epilog="Example: supervisor timeline statuses --before $(date -d -1day +%s)")
@click.option("-b", "--before", metavar="TIME", help="Only jobs that got their status at this time or before.")
@options.timeline
def statuses(session: Session, /, before: str | None) -> None:
    """Print JOBID,EVENT:TIMESTAMP for each job: its status (TML, ENQ, WRK, STP, DIE or BAD), and since when (Unix
    time).

    `supervisor tell --help` explains the statuses.
    """
    latest = None if before is None else read_moment(before, "UTC") / 1000

    async def work(manager: TaskManager) -> None:
        async for job in jobs(manager):
            if latest is None or job.status.since <= latest:
                print_row(job.jobid, str(job.status))

    manage(session, work, LONG_RETRIES)


# `supervisor tell`: prints the status of one job.


@options.command(epilog="Example: supervisor timeline tell crawl:A")
@jobid_argument
@options.timeline
def tell(session: Session, /, jobid: str) -> None:
    """Print the status of a job as JSON: status, next_run (Unix seconds), schedule, working.

    The status is TML (waits for its time), ENQ (queued), WRK (runs), STP (stopped), DIE (a run failed) or BAD (cannot
    be run). The time behind it says since when, in Unix seconds. For an unknown job all values are null and the exit
    status is 1.
    """
    try:
        job = manage(session, lambda manager: tell_job(manager, jobid))
    except UnknownScheduleError:
        output.document(NOTHING)
        raise
    output.document(job.document)


# `supervisor work`: runs one worker in the foreground.


@options.command(
    epilog="Examples:\n\nsupervisor timeline work 'mymodule:Worker(\"A:A:B\")'\n\n"
    "supervisor timeline work --config x.conf"
)
@click.argument("worker", required=False)
@settings_but("workers", "reload", "preload", "burst", "metrics")
@options.common
@options.pass_timeline_session
def work(session: Session, /, worker: str | None) -> int:
    """Run one worker in the foreground, one task at a time unless --concurrency says otherwise.

    WORKER names a handler, such as 'mymodule:handle', or makes a worker of holdfast.timeline from literal arguments,
    such as 'mymodule:Worker("A:A:B")'. Default: the handler of the settings. The worker also fires schedules that are
    due. Any number of workers may run at once. SIGTERM or Ctrl-C ends the worker after its running task. Nothing
    restarts the worker when it dies: use `supervisor start` for that.
    """
    settings = settings_with(session, worker)
    reach(session)
    from holdfastd.single import work_process  # slow to import; errors of the settings come first

    return work_process.run(settings, output.note)


# The group of all these commands.


@options.group(epilog="Example: supervisor timeline set crawl:A CONTINUE")
def timeline() -> None:
    """Set and run jobs on a timeline. A job is an id and a schedule.

    Each of these commands is also a command of its own, as in the scheduler Redbike: `supervisor set` is the same as
    `supervisor timeline set`. These commands and `supervisor schedules` read ./.redbike.conf first if there is also an
    agent_config.json.
    """


for each in (set_, unset, tell, statuses, work, dispatch, control):
    timeline.add_command(each)
