"""`supervisor schedules`: the group of its commands, and the list of all schedules."""

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
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfast.core.schedules import series
from holdfastd.cli.common import options, output
from holdfastd.cli.common.act_command import command_of, given_of, print_answer
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage, operate
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.schedules import apply
from holdfastd.cli.schedules.schedule_options import limit_option, spec_of, what, when
from holdfastd.documents import printed_times
from holdfastd.documents.printed_times import utc
from holdfastd.documents.queue_documents import occurrence_document, schedule_document
from holdfastd.operations.schedules import (
    PAUSE_SCHEDULE,
    REMOVE_SCHEDULE,
    RESUME_SCHEDULE,
    RUN_SCHEDULE,
    SET_SCHEDULE,
    ScheduleWord,
)

# `supervisor schedules next` and `history`: the fires of a schedule.

FIRES_COLUMNS = ("at (UTC)", "what", "scheduled for", "task", "detail")
FIRES_FIT = TableFit(("task",), ("detail",), drop=("scheduled for", "detail"))


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
    rows = [(printed_times.zoned(moment, timezone), printed_times.utc(moment)) for moment in moments]
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
        table(FIRES_COLUMNS, [tuple(line.values()) for line in documents], FIRES_FIT, wide=session.wide)


# `supervisor schedules set`, `show`, `remove`, `run`, `pause` and `resume`: one schedule.


@rich_click.command(
    "set",
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --timezone Europe/Berlin --name close\n\n"
    "supervisor schedules set sweep sweep --every 5m --overlap queue-one",
)
@click.argument("schedule_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--schedule", help="NOW, AT:<time>, CONTINUE, STOP or a recurrence rule.")
@click.option("--after", help="Skip fires up to this time. Default: now.", metavar="TIME")
@what
@when
@options.store
@options.pass_session
def set_(session: Session, /, schedule_id: str, after: str | None, **given: Any) -> None:
    """Set or change a schedule. Repeating the same command changes nothing, but restarts a schedule that has ended."""
    spec = spec_of(given)
    put = operate(session, SET_SCHEDULE, given_of({"schedule_id": schedule_id, "spec": spec, "after": after}))
    print_answer(session, put, lambda answer: f"{schedule_id}: {answer['word']}, next {answer['next'] or 'never'}")


def _word(answer: ScheduleWord) -> str:
    return f"{answer['schedule']}: {answer['word']}"


_id = {"schedule_id": click.argument("schedule_id", metavar="ID")}
_until = {"until": click.option("--until", help="Resume automatically at this time (UTC).", metavar="TIME")}
remove = command_of(REMOVE_SCHEDULE, "remove", _word, "Example: supervisor schedules remove nightly", own=_id)
run = command_of(
    RUN_SCHEDULE, "run", lambda answer: answer["task_id"], "Example: supervisor schedules run nightly", own=_id
)
pause = command_of(
    PAUSE_SCHEDULE,
    "pause",
    _word,
    "Example: supervisor schedules pause nightly --reason 'year end' --until 2027-01-04",
    own={**_id, **_until},
)
resume = command_of(RESUME_SCHEDULE, "resume", _word, "Example: supervisor schedules resume nightly", own=_id)


@rich_click.command(epilog="Example: supervisor schedules show nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_reading_session
def show(session: Session, /, schedule_id: str) -> None:
    """Show a schedule in full."""
    answer = schedule_document(manage(session, lambda manager: manager.schedules.get(schedule_id)))
    if session.json:
        output.document(answer)
        return
    for name, value in answer.items():
        if value is not None:
            output.text(f"{name:<12} {output.readable(value)}")


# Schedules as the command line shows them: cells of tables.

FIT = TableFit(texts=("cadence", "owner"), drop=("failures", "owner", "fires", "cadence"))
COLUMNS = ("schedule", "next (UTC)", "state", "fires", "failures", "owner", "cadence")


def cells(record: ScheduleRecord) -> tuple[object, ...]:
    definition = record.definition
    return (
        definition.schedule_id,
        utc(record.expected) or "-",
        state(record),
        record.fires,
        record.streak,
        definition.owner or "-",
        words(restored(definition.cadence)),
    )


def state(record: ScheduleRecord) -> str:
    if record.paused:
        return f"paused: {record.paused}"
    return f"ended: {record.ended}" if record.ended else "active"


@rich_click.group(
    invoke_without_command=True,
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --name billing.close_day\n\n"
    "supervisor schedules --csv > jobs.csv",
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print JOBID,SCHEDULE for each schedule that `supervisor set` can set."
)
@options.store
@options.pass_timeline_session
@click.pass_context
def schedules(context: click.Context, session: Session, /, as_csv: bool) -> None:
    """Set, list, pause, run and remove schedules. Without a command it lists them."""
    if context.invoked_subcommand is not None:
        if as_csv:
            raise click.UsageError("--csv prints all schedules and cannot be combined with a command")
    elif as_csv:
        from holdfastd.cli.job_csv import print_schedules  # rarely needed

        print_schedules(session)
    else:
        context.invoke(list_)


@schedules.command("list", epilog="Example: supervisor schedules list --json")
@click.option("--cursor", default="", help="Continue after an earlier page: the cursor that it printed.")
@limit_option
@options.wide
@options.store
@options.pass_reading_session
def list_(session: Session, /, limit: int, cursor: str) -> None:
    """List schedules in the order of their next fires."""
    page = manage(session, lambda manager: manager.schedules.list(limit, cursor))
    if session.json:
        unreadable = {each.schedule_id: each.why for each in page.spoilt}
        listed = [schedule_document(each) for each in page.schedules]
        output.document({"schedules": listed, "unreadable": unreadable, "cursor": page.cursor})
        return
    table(
        COLUMNS,
        [cells(each) for each in page.schedules],
        FIT,
        wide=session.wide,
    )
    for each in page.spoilt:
        output.note(f"schedule {each.schedule_id}: {each.why}; remove it and set it again")
    if page.cursor:
        output.note(f"there may be more: --cursor {page.cursor}")


for command in (
    *(set_, remove, show, pause, resume),
    *(next_, history, run),
    *(apply.diff, apply.apply),
):
    schedules.add_command(command)
