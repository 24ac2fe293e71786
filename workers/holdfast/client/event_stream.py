"""Reads the events of a queue from a position on, page by page, and waits while the store is away.

The position is that of the last event that was read, so after an absence of the store the next page begins behind it:
nothing is read twice, and events that were deleted meanwhile are reported as missed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio

from holdfast.core.activity import Happening, Happenings
from holdfast.errors import StoreUnavailableError
from holdfast.store.protocol import Store

PAGE = 250  # events read at once: some milliseconds of the store
POLL_TIMEOUT = 10.0  # seconds of one blocking read
RETRY_DELAY = 0.5  # seconds between two tries while the store is away


class MissedEvents(NamedTuple):
    """Two positions; the events between them were deleted before they were read."""

    after: str
    before: str


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects events: those of one task (None: of all), and those of `kinds` (empty: of all kinds)."""

    task_id: str | None = None
    kinds: frozenset[str] = frozenset()

    def matches(self, event: Happening) -> bool:
        of_task = self.task_id is None or event.subject == self.task_id
        return of_task and (not self.kinds or event.event in self.kinds)


def ignore(error: StoreUnavailableError | None) -> None:
    """The default of `on_absence`, which does nothing."""


@dataclass(slots=True)
class EventStream:
    """`position`: that of the last event that was read. `on_absence` is called with the error when the store is away,
    and with None when it is back."""

    store: Store
    wanted: EventFilter
    position: str
    on_absence: Callable[[StoreUnavailableError | None], None] = ignore
    _is_away: bool = field(default=False, init=False)

    async def follow(self) -> AsyncGenerator[Happening | MissedEvents]:
        """The selected events as they come, without end."""
        while True:
            for event in await self._read():
                yield event

    def take(self, page: Happenings) -> list[Happening | MissedEvents]:
        """The selected events of a page that was read from `position` on; moves `position` to its end."""
        if not page.events:
            return []
        missed = [MissedEvents(self.position, page.events[0].position)] if page.missed else []
        self.position = page.events[-1].position
        return [*missed, *filter(self.wanted.matches, page.events)]

    async def _read(self) -> list[Happening | MissedEvents]:
        """The next page; empty after a time without events, or without the store."""
        try:
            page = await self.store.events(self.position, PAGE, 0.0 if self._is_away else POLL_TIMEOUT)
        except StoreUnavailableError as error:
            if not self._is_away:
                self.on_absence(error)
            self._is_away = True
            await anyio.sleep(RETRY_DELAY)
            return []
        if self._is_away:
            self.on_absence(None)
            self._is_away = False
        return self.take(page)
