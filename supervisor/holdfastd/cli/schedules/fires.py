"""`supervisor schedules next`, `history` and `run`: the fires of a schedule."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import click
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_definition import define
from holdfast.client.schedules import Schedules
from holdfast.core.cadence import Cadence, Cron, RecurrenceRule, restored, words
from holdfast.core.cadence.moments import read_moment
from holdfast.core.schedule_records import Occurrence
from holdfast.core.schedules import series
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.common.table_fit import TableFit
from holdfastd.cli.common.tables import table
from holdfastd.cli.schedules.schedule_options import limit_option, spec_of, when
from holdfastd.documents import times
from holdfastd.documents.schedule_documents import occurrence_document

COLUMNS = ("at (UTC)", "what", "scheduled for", "task", "detail")
FIT = TableFit(("task",), ("detail",), drop=("scheduled for", "detail"))


@rich_click.command(
    "next",
    epilog="Examples:\n\nsupervisor schedules next nightly --count 3\n\n"
    "supervisor schedules next --cron '30 2 * * *' --timezone America/New_York --after 2027-03-13",
)
@click.argument("schedule_id", metavar="[ID]", required=False)
@click.option(
    "--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of fires.", metavar="N"
)
@click.option("--after", help="Only fires after this time. Default: now.", metavar="TIME")
@click.option("--schedule", help="AT:<time>, or a recurrence rule.")
@when
@options.store
@options.pass_reading_session
def next_(session: Session, /, schedule_id: str | None, count: int, after: str | None, **given: Any) -> None:
    """Show the next fires of a schedule, or of a cadence given by options, in its time zone and in UTC."""
    if schedule_id is not None:
        cadence, timezone, moments = _of_stored(session, schedule_id, count, after, given)
    else:
        spec = spec_of({**given, "text": "preview"})
        timezone = spec.timezone
        now = round(time.time() * 1000)
        moment = now if after is None else read_moment(after, timezone)
        defined = define("preview", spec, moment, moment)
        cadence = restored(defined.definition.cadence)
        moments = tuple(islice(series(defined.definition.schedule(), defined.expected), count))
    text = words(cadence)
    if isinstance(cadence, Cron | RecurrenceRule) and cadence.timezone != "UTC":
        timezone = cadence.timezone  # as CRON_TZ or TZID has it
    rows = [(times.zoned(moment, timezone), times.utc(moment)) for moment in moments]
    if session.json:
        output.document({"words": text, "timezone": timezone, "next": [{"local": a, "utc": b} for a, b in rows]})
        return
    output.text(text)
    table((timezone, "UTC"), rows)


def _of_stored(
    session: Session, schedule_id: str, count: int, after: str | None, given: dict[str, Any]
) -> tuple[Cadence, str, tuple[int, ...]]:
    if any(value is not None for value in given.values()):
        raise click.UsageError("give either the ID of a schedule or options for the times, not both")

    async def work(manager: Any) -> tuple[Cadence, str, tuple[int, ...]]:
        schedules: Schedules = manager.schedules
        definition = (await schedules.get(schedule_id)).definition
        moment = None if after is None else read_moment(after, definition.timezone)
        moments = await schedules.preview(schedule_id, count, moment)
        return restored(definition.cadence), definition.timezone, moments

    return manage(session, work)


@rich_click.command(epilog="Example: supervisor schedules history nightly --limit 20")
@click.argument("schedule_id", metavar="ID")
@limit_option
@options.store
@options.pass_reading_session
def history(session: Session, /, schedule_id: str, limit: int) -> None:
    """Show the history of a schedule's fires, newest first. The last hundred lines are kept."""

    async def work(manager: TaskManager) -> tuple[Occurrence, ...]:
        lines = await manager.schedules.history(schedule_id, limit)
        if not lines:  # every known schedule has at least a line: that it was set
            await manager.schedules.get(schedule_id)
        return lines

    lines = manage(session, work)
    documents = [occurrence_document(line) for line in lines]
    if session.json:
        output.document(documents)
    else:
        table(COLUMNS, [tuple(line.values()) for line in documents], FIT, wide=session.wide)


@rich_click.command(epilog="Example: supervisor schedules run nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def run(session: Session, /, schedule_id: str) -> None:
    """Make one extra fire now and print the id of its task."""
    task_id = manage(session, lambda manager: manager.schedules.run(schedule_id))
    if session.json:
        output.document({"schedule": schedule_id, "task_id": task_id})
    else:
        output.text(task_id)
