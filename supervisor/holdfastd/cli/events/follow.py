"""Reads the event stream: its last entries, all since a moment, or all that come; survives an absent store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.client.event_stream import PAGE, EventFilter, EventStream, MissedEvents
from holdfast.core.tasks import Happening
from holdfast.errors import StoreUnavailableError
from holdfast.store.protocol import Store
from holdfastd.cli.common.store_session import TERMINAL_RETRIES


@dataclass(frozen=True, slots=True)
class EventPrinter:
    """Functions that print an event, a remark about the store, and a gap."""

    show: Callable[[Happening], None]
    note: Callable[[str], None]
    missed: Callable[[MissedEvents], None]

    def print(self, event: Happening | MissedEvents) -> None:
        if isinstance(event, MissedEvents):
            self.missed(event)
        else:
            self.show(event)

    def note_absence(self, error: StoreUnavailableError | None) -> None:
        self.note(f"{error}; waiting until it is back" if error else "the store is back")


async def last(store: Store, wanted: EventFilter, limit: int, printer: EventPrinter, from_ms: int = 0) -> str:
    """Show the last events since a moment; returns the position of the newest, from which `follow` continues."""
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
        printer.show(event)
    return newest


async def since_then(store: Store, wanted: EventFilter, from_ms: int, printer: EventPrinter) -> str:
    """Show all events since a moment; returns the position of the last one read."""
    stream = EventStream(store, wanted, f"{from_ms}-0")
    while (page := await TERMINAL_RETRIES.call(store.events, stream.position, PAGE)).events:
        for event in stream.take(page):
            printer.print(event)
    return stream.position


async def follow(store: Store, wanted: EventFilter, position: str, printer: EventPrinter) -> None:
    """Show all events after `position`, for ever."""
    async for event in EventStream(store, wanted, position, printer.note_absence).follow():
        printer.print(event)
