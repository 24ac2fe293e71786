"""`supervisor events`: the event stream of a queue, past or live."""

from __future__ import annotations

from dataclasses import dataclass

import click

from holdfast.client.queue_views import PAGE, EventFilter, EventStream, MissedEvents
from holdfast.core.activity import Happening
from holdfast.core.trail import EVENTS
from holdfast.errors import StoreUnavailableError
from holdfastd.cli.common import Session, options, output, parameters
from holdfastd.cli.common.store_session import TERMINAL_RETRIES, Store, converse
from holdfastd.cli.common.task_id import TASK_ID, whole_ids
from holdfastd.documents import printed_times
from holdfastd.documents.queue_documents import event_document

# Reads the event stream: its last events, all events since a moment, or all new events. Waits while the store is away.


@dataclass(frozen=True, slots=True)
class EventPrinter:
    """Prints events, and the gaps where events were deleted before they could be read. In JSON a gap is a document,
    too. Remarks about the store go to standard error."""

    session: Session

    def print(self, event: Happening | MissedEvents) -> None:
        if isinstance(event, MissedEvents):
            if self.session.json:
                output.line({"event": "missed", "after": event.after, "before": event.before})
            after, before = (printed_times.moment(int(position.partition("-")[0])) for position in event)
            output.note(f"events between {after} and {before} were deleted before they could be read")
        else:
            line = f"{printed_times.moment(event.at_ms)}  {event.event:<17} {event.subject} {event.detail}"
            self.session.answer_each(event_document(event), line.rstrip())

    def note_absence(self, error: StoreUnavailableError | None) -> None:
        output.note(f"{error}; waiting until the store is back" if error else "the store is back")


async def last(store: Store, wanted: EventFilter, limit: int, printer: EventPrinter, from_ms: int = 0) -> str:
    """Print the last `limit` matching events since `from_ms`. Returns the position of the newest event of the store,
    from which `follow` continues."""
    newest, position = "", ""
    matches: list[Happening] = []
    while len(matches) < limit:
        page = await TERMINAL_RETRIES.call(store.events_before, position, PAGE)
        newest = newest or (page[0].position if page else "")
        matches += [event for event in page if event.at_ms >= from_ms and wanted.matches(event)]
        if not page or page[-1].at_ms < from_ms:
            break
        position = page[-1].position
    for event in reversed(matches[:limit]):
        printer.print(event)
    return newest


async def since_then(store: Store, wanted: EventFilter, from_ms: int, printer: EventPrinter) -> str:
    """Print all matching events since `from_ms`. Returns the position of the last event that was read."""
    stream = EventStream(store, wanted, f"{from_ms}-0")
    while (page := await TERMINAL_RETRIES.call(store.events, stream.position, PAGE)).events:
        for event in stream.take(page):
            printer.print(event)
    return stream.position


async def follow(store: Store, wanted: EventFilter, position: str, printer: EventPrinter) -> None:
    """Print all matching events after `position`, for ever."""
    async for event in EventStream(store, wanted, position, printer.note_absence).follow():
        printer.print(event)


LAST = 20  # events shown without --since and --limit


@options.command(epilog="Examples: supervisor events --since 5m; supervisor events --follow --kind crashed --json")
@click.option("--follow", "-f", "is_followed", is_flag=True, help="Keep printing new events until interrupted.")
@click.option(
    "--since",
    type=parameters.DURATION,
    metavar="DURATION",
    help="Show the events from this long ago until now: 90s, 5m, 7d. Default: only the last few.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"Maximum number of past events; the latest are shown. Default: {LAST}; with --since: all.",
)
@click.option("--task", "task_id", metavar="TASK_ID", help="Only events of this task.", type=TASK_ID)
@click.option(
    "--kind", "kinds", type=click.Choice(EVENTS), multiple=True, help="Only events of this kind (repeatable)."
)
@options.reading
def events(
    session: Session,
    /,
    is_followed: bool,
    since: float | None,
    limit: int | None,
    task_id: str | None,
    kinds: tuple[str, ...],
) -> None:
    """Show the events of tasks and workers, in the order in which the store recorded them. At least the last 100,000
    are kept.

    With --json it prints one document per line. --follow goes on when the store is back after a failure. It reports
    events that were deleted before it could read them.
    """
    chosen = whole_ids(session, [task_id])[0] if task_id else None  # not `whole_id`: the task may be submitted later
    wanted = EventFilter(chosen, frozenset(kinds))
    printer = EventPrinter(session)

    async def work(store: Store) -> None:
        from_ms = 0 if since is None else max(0, await TERMINAL_RETRIES.call(store.clock_ms) - round(since * 1000))
        if since is None or limit is not None:
            position = await last(store, wanted, limit or LAST, printer, from_ms)
        else:
            position = await since_then(store, wanted, from_ms, printer)
        if is_followed:
            await follow(store, wanted, position, printer)

    converse(session, work)
