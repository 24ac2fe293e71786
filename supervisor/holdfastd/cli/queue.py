"""`supervisor queue`: how much waits, what waits, what could not be read; and clearing it."""

from __future__ import annotations

import sys

import click
import rich_click

from holdfast.core.records import Unreadable
from holdfastd.cli import options, output, records
from holdfastd.cli.session import Session
from holdfastd.cli.storing import ask, manage
from holdfastd.cli.tables import table

SHOWN = 100  # characters of an entry in a table

lane_option = click.option("--lane", help="A lane; else the public queue.", metavar="NAME")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=10, show_default=True, help="The most entries to show."
)


@rich_click.group(epilog="Example: supervisor queue length")
def queue() -> None:
    """Look at the queue, and clear it."""


@queue.command(epilog="Example: supervisor queue length --json")
@options.store
@options.pass_session
def length(session: Session, /) -> None:
    """Print how many entries wait, lane by lane."""
    lanes = ask(session, lambda store: store.counts()).lanes
    if session.json:
        output.document({"length": sum(lanes.values()), "lanes": lanes})
    else:
        table(("lane", "entries"), list(lanes.items()))


@queue.command(epilog="Example: supervisor queue peek --limit 3")
@lane_option
@limit_option
@options.store
@options.pass_session
def peek(session: Session, /, lane: str | None, limit: int) -> None:
    """Show the next entries, and leave them where they are."""
    name = lane or session.settings.queue_name
    for entry in ask(session, lambda store: store.peek_entries(name, limit)):
        if session.json:
            output.line(records.decoded(entry))
        else:
            output.text(entry.decode("utf-8", "backslashreplace"))


@queue.command(epilog="Example: supervisor queue clear --lane high --yes")
@lane_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.store
@options.pass_session
def clear(session: Session, /, lane: str | None, yes: bool) -> None:
    """Cancel all tasks that wait in the queue; those that run go on."""
    if not yes:
        _ask(lane or session.settings.queue_name)
    cleared = manage(session, lambda manager: manager.clear_queue(lane))
    if session.json:
        output.document({"cleared": cleared})
    else:
        output.text(f"{cleared} cleared")


def _ask(name: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("clearing a queue cannot be undone: say --yes")
    click.confirm(f"Cancel all that waits in {output.safe(name)}?", abort=True, err=True)


@queue.command(epilog="Example: supervisor queue unreadable --json")
@limit_option
@options.store
@options.pass_session
def unreadable(session: Session, /, limit: int) -> None:
    """Show what was set aside because it could not be understood, newest first."""
    found = ask(session, lambda store: store.unreadable(limit))
    if session.json:
        for one in found:
            raw = one.raw.decode("utf-8", "backslashreplace")
            output.line({"at": records.moment(one.at_ms), "reason": one.reason, "size": one.size, "raw": raw})
    else:
        table(("at", "reason", "bytes", "entry"), [_cells(one) for one in found])


def _cells(one: Unreadable) -> tuple[object, ...]:
    entry = one.raw[: 4 * SHOWN].decode("utf-8", "backslashreplace")[:SHOWN]
    return (records.moment(one.at_ms), one.reason, one.size, entry)
