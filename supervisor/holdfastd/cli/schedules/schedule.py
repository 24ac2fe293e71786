"""`supervisor schedules set`, `show`, `remove`, `pause` and `resume`: one schedule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
import rich_click

from holdfast.core.cadence.moments import read_moment
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.schedules.schedule_options import spec_of, what, when
from holdfastd.documents import times
from holdfastd.documents.schedule_documents import schedule_document


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
    moment = None if after is None else read_moment(after, spec.timezone)
    put = manage(session, lambda manager: manager.schedules.put(schedule_id, spec, again=True, after=moment))
    answer = {"schedule": schedule_id, "word": put.word, "next": times.utc(put.expected)}
    if session.json:
        output.document(answer)
    else:
        output.text(f"{schedule_id}: {put.word}, next {answer['next'] or 'never'}")


@rich_click.command(epilog="Example: supervisor schedules remove nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def remove(session: Session, /, schedule_id: str) -> None:
    """Remove a schedule and its history. A running task continues."""
    manage(session, lambda manager: manager.schedules.remove(schedule_id))
    _show_word(session, schedule_id, "removed")


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


@rich_click.command(epilog="Example: supervisor schedules pause nightly --reason 'year end' --until 2027-01-04")
@click.argument("schedule_id", metavar="ID")
@click.option("--reason", default="paused by an operator", help="Reason that `schedules list` shows.")
@click.option("--until", help="Resume automatically at this time (UTC).", metavar="TIME")
@options.store
@options.pass_session
def pause(session: Session, /, schedule_id: str, reason: str, until: str | None) -> None:
    """Stop the fires of a schedule until it is resumed. A running task continues."""
    end = None if until is None else datetime.fromtimestamp(read_moment(until, "UTC") / 1000, UTC)
    manage(session, lambda manager: manager.schedules.pause(schedule_id, reason, end))
    _show_word(session, schedule_id, "paused")


@rich_click.command(epilog="Example: supervisor schedules resume nightly")
@click.argument("schedule_id", metavar="ID")
@options.store
@options.pass_session
def resume(session: Session, /, schedule_id: str) -> None:
    """Resume a paused schedule. Fires that it missed are not made up."""
    manage(session, lambda manager: manager.schedules.resume(schedule_id))
    _show_word(session, schedule_id, "resumed")


def _show_word(session: Session, schedule_id: str, word: str) -> None:
    if session.json:
        output.document({"schedule": schedule_id, "word": word})
    else:
        output.text(f"{schedule_id}: {word}")
