"""`supervisor schedules`: set, look at, pause, run and remove what is to run again and again."""

from __future__ import annotations

import time
from datetime import UTC, datetime
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
from holdfastd.cli.common.tables import table
from holdfastd.cli.schedules import schedule_views
from holdfastd.cli.schedules.apply import apply, diff
from holdfastd.cli.schedules.schedule_options import spec_of, what, when
from holdfastd.cli.views import times

_limit = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="The most to show.", metavar="N"
)


@rich_click.group(
    invoke_without_command=True,
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --name billing.close_day\n\n"
    "supervisor schedules --csv > jobs.csv",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print JOBID,SCHEDULE for each that `supervisor set` could set.")
@options.store
@options.pass_timeline_session
@click.pass_context
def schedules(context: click.Context, session: Session, /, as_csv: bool) -> None:
    """Set, list, pause, run and remove schedules; without a command: list them."""
    if context.invoked_subcommand is not None:
        if as_csv:
            raise click.UsageError("--csv prints them all: leave the command out")
    elif as_csv:
        from holdfastd.cli.views.job_csv import print_schedules  # of one call in a hundred

        print_schedules(session)
    else:
        context.invoke(list_)


@schedules.command(
    "set",
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --timezone Europe/Berlin --name close\n\n"
    "supervisor schedules set sweep sweep --every 5m --overlap queue-one",
)
@click.argument("schedule_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--schedule", help="NOW, AT:<time>, CONTINUE, STOP or a recurrence rule.")
@click.option("--after", help="Fires up to this moment count as made; else those up to now.", metavar="TIME")
@what
@when
@options.store
@options.pass_session
def set_(session: Session, /, schedule_id: str, after: str | None, **given: Any) -> None:
    """Set a schedule, or change it. The same once more changes nothing, but one that has ended begins anew."""
    spec = spec_of(given)
    moment = None if after is None else read_moment(after, spec.timezone)
    put = manage(session, lambda manager: manager.schedules.put(schedule_id, spec, again=True, after=moment))
    told = {"schedule": schedule_id, "word": put.word, "next": times.utc(put.expected)}
    if session.json:
        output.document(told)
    else:
        output.text(f"{schedule_id}: {put.word}, next {told['next'] or 'never'}")


@schedules.command(epilog="Example: supervisor schedules unset nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def unset(session: Session, /, schedule_id: str) -> None:
    """Forget a schedule and its history; a task that runs goes on."""
    manage(session, lambda manager: manager.schedules.remove(schedule_id))
    _say(session, schedule_id, "unset")


@schedules.command("list", epilog="Example: supervisor schedules list --json")
@click.option("--cursor", default="", help="Where the last page ended.")
@_limit
@options.store
@options.pass_session
def list_(session: Session, /, limit: int, cursor: str) -> None:
    """List schedules, the next to fire first."""
    page = manage(session, lambda manager: manager.schedules.list(limit, cursor))
    if session.json:
        unreadable = {one.schedule_id: one.why for one in page.spoilt}
        listed = [schedule_views.document(one) for one in page.schedules]
        output.document({"schedules": listed, "unreadable": unreadable, "cursor": page.cursor})
        return
    table(schedule_views.COLUMNS, [schedule_views.cells(one) for one in page.schedules])
    for one in page.spoilt:
        output.note(f"schedule {one.schedule_id}: {one.why}; unset it, and set it again")
    if page.cursor:
        output.note(f"there may be more: --cursor {page.cursor}")


@schedules.command(epilog="Example: supervisor schedules show nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def show(session: Session, /, schedule_id: str) -> None:
    """Show all that is known of a schedule."""
    told = schedule_views.document(manage(session, lambda manager: manager.schedules.get(schedule_id)))
    if session.json:
        output.document(told)
        return
    for name, value in told.items():
        if value is not None:
            output.text(f"{name:<12} {output.readable(value)}")


@schedules.command(
    "next",
    epilog="Examples:\n\nsupervisor schedules next nightly --count 3\n\n"
    "supervisor schedules next --cron '30 2 * * *' --timezone America/New_York --after 2027-03-13",
)
@click.argument("schedule_id", metavar="[ID]", required=False)
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.", metavar="N")
@click.option("--after", help="After this moment; else after now.", metavar="TIME")
@click.option("--schedule", help="AT:<time>, or a recurrence rule.")
@when
@options.store
@options.pass_session
def next_(session: Session, /, schedule_id: str | None, count: int, after: str | None, **given: Any) -> None:
    """Show the next fires of a schedule, or of a cadence that is not stored: in its zone and in UTC, and in words."""
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
    told = words(cadence)
    if isinstance(cadence, Cron | RecurrenceRule) and cadence.timezone != "UTC":
        timezone = cadence.timezone  # as CRON_TZ or TZID has it
    rows = [(times.zoned(moment, timezone), times.utc(moment)) for moment in moments]
    if session.json:
        output.document({"words": told, "timezone": timezone, "next": [{"local": a, "utc": b} for a, b in rows]})
        return
    output.text(told)
    table((timezone, "UTC"), rows)


def _of_stored(
    session: Session, schedule_id: str, count: int, after: str | None, given: dict[str, Any]
) -> tuple[Cadence, str, tuple[int, ...]]:
    if any(value is not None for value in given.values()):
        raise click.UsageError("give the ID of a schedule, or options that say when, not both")

    async def work(manager: Any) -> tuple[Cadence, str, tuple[int, ...]]:
        schedules: Schedules = manager.schedules
        definition = (await schedules.get(schedule_id)).definition
        moment = None if after is None else read_moment(after, definition.timezone)
        found = await schedules.preview(schedule_id, count, moment)
        return restored(definition.cadence), definition.timezone, found

    return manage(session, work)


@schedules.command(epilog="Example: supervisor schedules history nightly --limit 20")
@click.argument("schedule_id", metavar="ID")
@_limit
@options.store
@options.pass_session
def history(session: Session, /, schedule_id: str, limit: int) -> None:
    """Show what became of a schedule's fires, newest first; the last hundred lines are kept."""

    async def work(manager: TaskManager) -> tuple[Occurrence, ...]:
        lines = await manager.schedules.history(schedule_id, limit)
        if not lines:  # that it was set is the first of each
            await manager.schedules.get(schedule_id)
        return lines

    lines = manage(session, work)
    told = [schedule_views.happened(line) for line in lines]
    if session.json:
        output.document(told)
    else:
        table(("at (UTC)", "what", "scheduled for", "task", "detail"), [tuple(line.values()) for line in told])


@schedules.command(epilog="Example: supervisor schedules pause nightly --reason 'year end' --until 2027-01-04")
@click.argument("schedule_id", metavar="ID")
@click.option("--reason", default="paused by an operator", help="Why, for those who wonder.")
@click.option("--until", help="Go on by itself at this moment (UTC).", metavar="TIME")
@options.store
@options.pass_session
def pause(session: Session, /, schedule_id: str, reason: str, until: str | None) -> None:
    """Make no more fires until it is resumed; a task that runs goes on."""
    end = None if until is None else datetime.fromtimestamp(read_moment(until, "UTC") / 1000, UTC)
    manage(session, lambda manager: manager.schedules.pause(schedule_id, reason, end))
    _say(session, schedule_id, "paused")


@schedules.command(epilog="Example: supervisor schedules resume nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def resume(session: Session, /, schedule_id: str) -> None:
    """Let a paused schedule go on; what it missed is not made up for."""
    manage(session, lambda manager: manager.schedules.resume(schedule_id))
    _say(session, schedule_id, "resumed")


@schedules.command(epilog="Example: supervisor schedules run nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def run(session: Session, /, schedule_id: str) -> None:
    """Make one extra fire now; print its task's id."""
    task_id = manage(session, lambda manager: manager.schedules.run(schedule_id))
    if session.json:
        output.document({"schedule": schedule_id, "task_id": task_id})
    else:
        output.text(task_id)


schedules.add_command(diff)
schedules.add_command(apply)


def _say(session: Session, schedule_id: str, word: str) -> None:
    if session.json:
        output.document({"schedule": schedule_id, "word": word})
    else:
        output.text(f"{schedule_id}: {word}")
