"""`supervisor events`: the events stream of a queue, its last entries or as they come."""

from __future__ import annotations

import click
import rich_click

from holdfast.core.tasks import Happening
from holdfast.core.trail import EVENTS
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import TERMINAL_RETRIES, converse
from holdfastd.cli.events.follow import Filter, MissedEvents, Talk, follow, last, since_then
from holdfastd.cli.views import times

LAST = 20  # shown where nothing else is said


@rich_click.command(epilog="Examples: supervisor events --since 5m; supervisor events --follow --kind crashed --json")
@click.option("--follow", "-f", "is_followed", is_flag=True, help="Go on showing what happens, until interrupted.")
@click.option("--since", type=DURATION, metavar="DURATION", help="Begin so long ago; else with the last few.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"The most to show of what was, the last ones; {LAST} without --since, else all.",
)
@click.option("--task", "task_id", metavar="TASK_ID", help="Only those of this task.")
@click.option("--kind", "kinds", type=click.Choice(EVENTS), multiple=True, help="Only such; may be repeated.")
@options.store
@options.pass_session
def events(
    session: Session,
    /,
    is_followed: bool,
    since: float | None,
    limit: int | None,
    task_id: str | None,
    kinds: tuple[str, ...],
) -> None:
    """Show what happens to tasks and workers, in the order in which the store saw it; about 100,000 events are kept.

    With --json a document a line. --follow goes on when the store was away, and says when it came too late for some.
    """
    wanted = Filter(task_id, frozenset(kinds))
    talk = Talk(lambda event: _show(session, event), output.note, lambda missed: _tell_missed(session, missed))

    async def work(store: Store) -> None:
        from_ms = 0 if since is None else max(0, await TERMINAL_RETRIES.call(store.clock_ms) - round(since * 1000))
        if since is None or limit is not None:
            position = await last(store, wanted, limit or LAST, talk, from_ms)
        else:
            position = await since_then(store, wanted, from_ms, talk)
        if is_followed:
            await follow(store, wanted, position, talk)

    converse(session, work)


def _show(session: Session, event: Happening, /) -> None:
    at = times.moment(event.at_ms)
    if session.json:
        told = {"at": at, "position": event.position, "event": event.event, "id": event.subject}
        output.line(told | {"detail": event.detail})
    else:
        output.text(f"{at}  {event.event:<17} {event.subject} {event.detail}".rstrip())


def _tell_missed(session: Session, missed: MissedEvents, /) -> None:
    """What machines read must not hide a hole either."""
    if session.json:
        output.line({"event": "missed", "after": missed.after, "before": missed.before})
    after, before = (times.moment(int(position.partition("-")[0])) for position in missed)
    output.note(f"events between {after} and {before} were trimmed before they could be read")
