"""Jobs as CSV, for `statuses` and `schedules list`."""

from __future__ import annotations

import csv
import io

import click

from holdfast.client.manager import TaskManager
from holdfast.core.words import counted
from holdfast.timeline.jobs import is_job, records, schedule_of
from holdfastd.cli.common import output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, manage


def print_row(*cells: str) -> None:
    """Prints one row; control characters are escaped."""
    row = io.StringIO()
    csv.writer(row, lineterminator=output.LINE_END).writerow(
        [output.safe(cell, keep=output.LINE_END) for cell in cells]
    )
    click.echo(row.getvalue(), nl=False)


def print_schedules(session: Session) -> None:
    """Prints the jobs as `supervisor set` takes them, and a remark on schedules that it cannot set."""

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
