"""`supervisor queue`: how much waits, what waits, what could not be read; and clearing it."""

from __future__ import annotations

import click
import rich_click

from holdfastd.cli import options, output, records
from holdfastd.cli.asking import sure
from holdfastd.cli.session import Session
from holdfastd.cli.storing import ask, manage
from holdfastd.cli.tables import table
from holdfastd.cli.unreadable import unreadable

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
    name = lane or session.settings.queue_name
    sure(f"Cancel all that waits in {name}?", "clearing a queue cannot be undone", yes=yes)
    cleared = manage(session, lambda manager: manager.clear_queue(lane))
    if session.json:
        output.document({"cleared": cleared})
    else:
        output.text(f"{cleared} cleared")


queue.add_command(unreadable)
