"""Calls of TaskManager that read a queue: the explanation of a task, events, workers, lanes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import anyio

from holdfast.client.arguments import check_id, check_lane, check_list, check_seconds
from holdfast.client.submit_retries import RepeatedCalls
from holdfast.core.activity import Happening, Happenings
from holdfast.core.lanes import Lanes
from holdfast.core.plain_json import shown
from holdfast.core.trail import EVENTS
from holdfast.core.worker_records import WorkerRecord
from holdfast.errors import InvalidTaskError, StoreUnavailableError

if TYPE_CHECKING:
    from holdfast.store import Store
    from holdfast.why.document import WhyDocument
    from holdfast_config import Settings


# Read the events of a queue page by page, and wait while the store is away.
#
# The stream keeps the position of the last event that it has read, and the next page begins after this position. So
# when the store is back, no event is read twice. Events that were deleted meanwhile are reported as missed.

PAGE = 250  # events of one read, which occupies the store for some milliseconds
POLL_TIMEOUT = 10.0  # seconds of one blocking read
RETRY_DELAY = 0.5  # seconds between two tries while the store is away


class MissedEvents(NamedTuple):
    """Stands for events that the store deleted before they were read. The events were between two positions."""

    after: str
    before: str


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects the events of one task (None: of all tasks and workers) and of some kinds (empty: of all kinds)."""

    task_id: str | None = None
    kinds: frozenset[str] = frozenset()

    def matches(self, event: Happening) -> bool:
        of_task = self.task_id is None or event.subject == self.task_id
        return of_task and (not self.kinds or event.event in self.kinds)


def ignore(error: StoreUnavailableError | None) -> None:
    """The default of `on_absence`, which does nothing."""


@dataclass(slots=True)
class EventStream:
    """Reads the events of a queue. `position` belongs to the last event that was read. `on_absence` is called with the
    error when the store is away, and with None when the store is back."""

    store: Store
    wanted: EventFilter
    position: str
    on_absence: Callable[[StoreUnavailableError | None], None] = ignore
    _is_away: bool = field(default=False, init=False)

    async def follow(self) -> AsyncGenerator[Happening | MissedEvents]:
        """Yield the selected events as they come, without end."""
        while True:
            for event in await self._read():
                yield event

    def take(self, page: Happenings) -> list[Happening | MissedEvents]:
        """The selected events of a page that was read from `position` on. Moves `position` to the end of the page."""
        if not page.events:
            return []
        missed = [MissedEvents(self.position, page.events[0].position)] if page.missed else []
        self.position = page.events[-1].position
        return [*missed, *filter(self.wanted.matches, page.events)]

    async def _read(self) -> list[Happening | MissedEvents]:
        """The next page. It is empty if no event came in time, or if the store is away."""
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


LAST_OF_MOMENT = 2**64 - 1  # the highest number of an event within its millisecond

_POSITION = re.compile(r"[0-9]{1,19}-[0-9]{1,20}")


class QueueViews(RepeatedCalls):
    """The calls of TaskManager that return the data of `supervisor events`, `why`, `workers` and `lanes list`."""

    async def why(self, task_id: str, *, settings: Settings | None = None) -> WhyDocument:
        """The document that `supervisor why --json` prints about one task: `now` (its state and what comes next, in one
        sentence), `timeline` (its history), `times`, `commands`, `place`, `service`, `complete` and more.

        If no worker runs, the document uses the limits of `settings` (None: the defaults). `settings` also decides
        whether the document names the task's `spans`. Two facts are missing, because only a host's supervisor knows
        them: the moment of a worker's death, and why no quarantine worker is started. Raises UnknownTaskError.
        """
        from holdfast.why import gather  # its imports are for this alone

        return await self._call(gather.explain, self._store, self._queue, check_id(task_id), settings)

    async def workers(self) -> list[WorkerRecord]:
        """The workers of all hosts of this queue."""
        return await self._call(self._store.workers)

    async def lanes(self, *lanes: str) -> Lanes:
        """All lanes that have tasks, workers or limits now. The public queue and the given `lanes` are always
        included."""
        return await self._call(self._store.lanes, list(dict.fromkeys((self._queue, *map(check_lane, lanes)))))

    def events(
        self, task_id: str | None = None, *, since: str | float | None = None, kinds: Iterable[str] = ()
    ) -> AsyncGenerator[Happening | MissedEvents]:
        """Yield the events of a task, or of all tasks and workers, without end: leave the loop to stop.

        `since` is the position of an event, to begin after this event, or a number of seconds, to begin that long ago.
        Without `since`, the events of one task begin with its acceptance, and the events of the whole queue begin now.
        `kinds`: only these kinds. While the store is away the stream waits, and then goes on after the last event.
        MissedEvents stands for events that were deleted before they were read; the store keeps at least the last
        100,000. Raises InvalidTaskError, and StoreUnavailableError if the store is away at the first step.
        """
        wanted = EventFilter(None if task_id is None else check_id(task_id), _check_kinds(kinds))
        return self._follow(wanted, _check_since(since))

    async def _follow(self, wanted: EventFilter, since: str | float | None) -> AsyncGenerator[Happening | MissedEvents]:
        async with aclosing(EventStream(self._store, wanted, await self._beginning(wanted, since)).follow()) as events:
            async for event in events:
                yield event

    async def _beginning(self, wanted: EventFilter, since: str | float | None) -> str:
        """The position after which the first event is read."""
        if isinstance(since, str):
            return since
        if since is not None:
            return _just_before(await self._call(self._store.clock_ms) - round(since * 1000))
        if wanted.task_id and (task := await self._call(self._store.get, wanted.task_id, payloads=False)):
            return _just_before(task.created_ms)
        newest = await self._call(self._store.events_before, "", 1)
        return newest[0].position if newest else "0-0"


def _just_before(ms: int) -> str:
    return f"{max(0, ms - 1)}-{LAST_OF_MOMENT}"


def _check_kinds(kinds: object) -> frozenset[str]:
    given = check_list("kinds", kinds, "kinds of events")
    for kind in given:
        if kind not in EVENTS:
            from difflib import get_close_matches  # rarely needed, and every process would keep it

            nearest = (get_close_matches(kind, EVENTS) if isinstance(kind, str) else ()) or (
                "claimed",
                "settled",
                "worker-died",
            )
            raise InvalidTaskError(
                f"kind {shown(kind)}: a name of holdfast.core.trail.EVENTS is expected, such as {' or '.join(nearest)}"
            )
    return frozenset(map(str, given))


def _check_since(since: str | float | None) -> str | float | None:
    if isinstance(since, str) and not _POSITION.fullmatch(since):
        raise InvalidTaskError(
            f"since {shown(since)}: a position of an event, such as 1700000000000-0, or a number of seconds is expected"
        )
    if since is not None and not isinstance(since, str):
        check_seconds("since", since)
    return since
