"""Reading the events stream: its end, from a moment on, and on and on, through whatever the store goes through."""

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
WAIT = 10.0  # seconds: then it is asked again
AWAY = 0.5  # seconds between two tries of a store that is away


class MissedEvents(NamedTuple):
    """Positions between which events were lost to the reader."""

    after: str
    before: str


@dataclass(frozen=True, slots=True)
class Filter:
    """`kinds`: none for all."""

    task_id: str | None
    kinds: frozenset[str]

    def lets(self, event: Happening) -> bool:
        of_task = self.task_id is None or event.subject == self.task_id
        return of_task and (not self.kinds or event.event in self.kinds)


@dataclass(frozen=True, slots=True)
class Talk:
    """Who is told of events, of the store's troubles, and of what was missed."""

    show: Callable[[Happening], None]
    note: Callable[[str], None]
    missed: Callable[[MissedEvents], None]


async def last(store: Store, wanted: Filter, limit: int, talk: Talk, from_ms: int = 0) -> str:
    """Show the last few since a moment; the position of the last of all, where following goes on."""
    newest, position = "", ""
    found: list[Happening] = []
    while len(found) < limit:
        page = await TERMINAL_RETRIES.call(store.events_before, position, PAGE)
        newest = newest or (page[0].position if page else "")
        found += [event for event in page if event.at_ms >= from_ms and wanted.lets(event)]
        if not page or page[-1].at_ms < from_ms:
            break
        position = page[-1].position
    for event in reversed(found[:limit]):
        talk.show(event)
    return newest


async def since_then(store: Store, wanted: Filter, from_ms: int, talk: Talk) -> str:
    """Show all that happened since a moment; the position of the last that was looked at."""
    reader = EventReader(store, wanted, talk, f"{from_ms}-0")
    while (page := await TERMINAL_RETRIES.call(store.events, reader.position, PAGE)).events:
        reader.take(page)
    return reader.position


async def follow(store: Store, wanted: Filter, position: str, talk: Talk) -> None:
    """Show what happens after `position`, for ever."""
    reader = EventReader(store, wanted, talk, position)
    while True:
        await reader.turn()


@dataclass(slots=True)
class EventReader:
    """Somebody who reads on from a position."""

    store: Store
    wanted: Filter
    talk: Talk
    position: str
    is_away: bool = field(default=False, init=False)

    async def turn(self) -> None:
        try:
            page = await self.store.events(self.position, PAGE, 0.0 if self.is_away else WAIT)
        except StoreUnavailableError as error:
            if not self.is_away:
                self.talk.note(f"{error}; waiting for it")
            self.is_away = True
            await anyio.sleep(AWAY)
            return
        if self.is_away:
            self.talk.note("the store is back")
            self.is_away = False
        self.take(page)

    def take(self, page: Happenings) -> None:
        """Show the events of a page."""
        if page.missed:
            self.talk.missed(MissedEvents(self.position, page.events[0].position))
        for event in page.events:
            self.position = event.position
            if self.wanted.lets(event):
                self.talk.show(event)
