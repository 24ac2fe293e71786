"""Reads the event stream: its last entries, all since a moment, or all that come; survives an absent store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio

from holdfast.core.tasks import Happening, Happenings
from holdfast.errors import StoreUnavailableError
from holdfast.store.protocol import Store
from holdfastd.cli.common.store_session import TERMINAL_RETRIES

PAGE = 250  # events read at once: some milliseconds of the store
POLL_TIMEOUT = 10.0  # seconds of one blocking read
RETRY_DELAY = 0.5  # seconds between two tries while the store is away


class MissedEvents(NamedTuple):
    """Two positions; the events between them were deleted before they were read."""

    after: str
    before: str


@dataclass(frozen=True, slots=True)
class Filter:
    """The events to show: of a task, and of `kinds`; empty means all."""

    task_id: str | None
    kinds: frozenset[str]

    def matches(self, event: Happening) -> bool:
        of_task = self.task_id is None or event.subject == self.task_id
        return of_task and (not self.kinds or event.event in self.kinds)


@dataclass(frozen=True, slots=True)
class EventPrinter:
    """Functions that print an event, a remark about the store, and a gap."""

    show: Callable[[Happening], None]
    note: Callable[[str], None]
    missed: Callable[[MissedEvents], None]


async def last(store: Store, wanted: Filter, limit: int, printer: EventPrinter, from_ms: int = 0) -> str:
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


async def since_then(store: Store, wanted: Filter, from_ms: int, printer: EventPrinter) -> str:
    """Show all events since a moment; returns the position of the last one read."""
    reader = EventReader(store, wanted, printer, f"{from_ms}-0")
    while (page := await TERMINAL_RETRIES.call(store.events, reader.position, PAGE)).events:
        reader.show(page)
    return reader.position


async def follow(store: Store, wanted: Filter, position: str, printer: EventPrinter) -> None:
    """Show all events after `position`, for ever."""
    reader = EventReader(store, wanted, printer, position)
    while True:
        await reader.read()


@dataclass(slots=True)
class EventReader:
    """Reads the stream from a position on."""

    store: Store
    wanted: Filter
    printer: EventPrinter
    position: str
    is_away: bool = field(default=False, init=False)

    async def read(self) -> None:
        try:
            page = await self.store.events(self.position, PAGE, 0.0 if self.is_away else POLL_TIMEOUT)
        except StoreUnavailableError as error:
            if not self.is_away:
                self.printer.note(f"{error}; waiting until it is back")
            self.is_away = True
            await anyio.sleep(RETRY_DELAY)
            return
        if self.is_away:
            self.printer.note("the store is back")
            self.is_away = False
        self.show(page)

    def show(self, page: Happenings) -> None:
        """Show the events of a page."""
        if page.missed:
            self.printer.missed(MissedEvents(self.position, page.events[0].position))
        for event in page.events:
            self.position = event.position
            if self.wanted.matches(event):
                self.printer.show(event)
