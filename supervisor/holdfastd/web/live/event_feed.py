"""Reads the store's event stream once for all listeners, while there are any, and keeps the last batches for them.

A listener has no queue of its own, only its place among the kept batches. So a slow listener costs no memory and delays
no other one. If the batch at its place is gone when the listener reads again, it gets a message with the number of
missed events.

The feed reads at most ten times a second, and about AT_ONCE events each time. If the feed falls behind by LAG_MS, it
skips to the end of the stream, and tells the listeners. So its cost is bounded, whatever the workers do.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import structlog
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from holdfast.client.queue_views import MissedEvents
from holdfast.core.activity import Happening, Happenings
from holdfast.core.trail import EVENTS
from holdfast.core.worker_records import WorkerRecord
from holdfast.errors import StoreError
from holdfast.store import Store
from holdfast.why.times import moment
from holdfastd.web.live import stream_response
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.views.shown_events import (
    NOT_OF_TASKS,
    brief_names,
    label,
    page_of,
    ran_by,
    sentence,
    tone,
    worker_of,
)

# The events that the query of a URL selects: `?kind=crashed&kind=settled&lane=mail&handler=send&task=t-1`.

LONGEST = 256  # characters of a name


class TaskPlace(NamedTuple):
    """The lane and the handler of a task."""

    lane: str
    handler: str


class EventSelection(NamedTuple):
    """Selects events; an empty field means any. Events about a lane itself belong to that lane. An event without a
    known task belongs to no handler. `shows_places`: the listener shows lanes and handlers, as far as they are
    known."""

    kinds: frozenset[str] = frozenset()
    task: str = ""
    lane: str = ""
    handler: str = ""
    shows_places: bool = False

    @classmethod
    def of(cls, query: QueryParams) -> EventSelection:
        """The selection in a query. Raises HTTPException 400 for a value that is not allowed."""
        kinds = frozenset(kind for kind in query.getlist("kind") if kind)
        if unknown := kinds - set(EVENTS):
            raise HTTPException(400, f"kind {min(unknown)[:50]!r}: one of {', '.join(EVENTS)} is expected")
        names = {name: query.get(name, "").strip() for name in ("task", "lane", "handler")}
        for name, given in names.items():
            if len(given) > LONGEST:
                raise HTTPException(400, f"{name} {given[:50]!r}…: at most {LONGEST} characters are expected")
        return cls(kinds, **names, shows_places=query.get("places") == "true")

    @property
    def needs_places(self) -> bool:
        return bool(self.lane or self.handler)

    def concerns(self, event: Happening) -> bool:
        """True if the kind and the task of an event are selected. Its lane and handler are not checked here."""
        return (not self.kinds or event.event in self.kinds) and self.task in ("", event.subject)

    def matches(self, event: Happening, places: Mapping[str, TaskPlace]) -> bool:
        if not self.concerns(event):
            return False
        if not self.needs_places:
            return True
        if event.event.startswith("lane-"):
            return not self.handler and event.subject == self.lane
        place = places.get(event.subject)
        return place is not None and self.lane in ("", place.lane) and self.handler in ("", place.handler)


# Events of one read. They are encoded once for all listeners with the same selection.


@dataclass(slots=True)
class EventBatch:
    """The events of one read. `start`: the number of events that the feed published before. `places`: lane and handler
    of known tasks. `workers`: names of known workers. `shown`: removes secrets from the detail of an event. `notice`: a
    message before the events. `unplaced`: the number of tasks whose lane and handler were not looked up, because there
    were too many."""

    start: int
    events: tuple[Happening, ...]
    places: dict[str, TaskPlace]
    shown: Callable[[str], str]
    notice: bytes = b""
    unplaced: int = 0
    workers: Mapping[str, str] = field(default_factory=dict[str, str])
    _encoded: dict[EventSelection, bytes] = field(default_factory=dict[EventSelection, bytes], init=False)
    _texts: dict[Happening, bytes] = field(default_factory=dict[Happening, bytes], init=False)

    @property
    def end(self) -> int:
        return self.start + len(self.events)

    def behind(self, position: str) -> EventBatch:
        """This batch without the events up to a position, which a listener has seen already. Empty: all events."""
        if not position or not self.events or number(self.events[0].position) > number(position):
            return self
        return replace(self, events=tuple(each for each in self.events if number(each.position) > number(position)))

    def concerns(self, selection: EventSelection) -> bool:
        return bool(self.notice) or any(selection.matches(event, self.places) for event in self.events)

    def encoded(self, selection: EventSelection) -> bytes:
        """The notice and the selected events as messages. An entry of the stream may be several events. Only the last
        of them has the position, so a client that goes on behind a position has seen the whole entry."""
        found = self._encoded.get(selection)
        if found is None:
            chosen = [event for event in self.events if selection.matches(event, self.places)]
            ends = [one.position != other.position for one, other in pairwise(chosen)] + [True]
            texts = (self._text(event, is_end) for event, is_end in zip(chosen, ends, strict=False))
            found = self._encoded[selection] = self.notice + b"".join(texts) + self._about_unplaced(selection)
        return found

    def _about_unplaced(self, selection: EventSelection) -> bytes:
        if not (self.unplaced and selection.needs_places):
            return b""
        return left_out(MissedEvents(self.events[0].position, self.events[-1].position), self.unplaced)

    def _text(self, event: Happening, is_end: bool) -> bytes:
        text = self._texts.get(event)
        if text is None:
            text = self._texts[event] = b"data: %s\n" % stream_response.json(self._document(event))
        return text + (stream_response.place(event.position) if is_end else b"\n")

    def _document(self, event: Happening) -> dict[str, object]:
        """The document that `supervisor events --json` prints, plus what a page shows of it. The lane and the handler
        of the task are added if they are known."""
        detail = self.shown(event.detail)
        document: dict[str, object] = {
            "at": moment(event.at_ms),
            "at_ms": event.at_ms,
            "position": event.position,
            "event": event.event,
            "id": event.subject,
            "detail": detail,
            "sentence": sentence(event.event, detail, event.at_ms, self.workers),
            "label": label(event.event, event.detail),
            "tone": tone(event.event, event.detail),
            "page": page_of(event.event, event.subject),
        }
        if name := self.workers.get(event.subject):
            document["worker"] = name
        if by := ran_by(event, self.workers):
            document["by"] = by
        if place := self.places.get(event.subject):
            document |= {"lane": place.lane, "handler": place.handler}
        return document


def number(position: str) -> tuple[int, int]:
    """A position as numbers, which can be compared."""
    ms, _, part = position.partition("-")
    return int(ms), int(part or 0)


def left_out(missed: MissedEvents, count: int | None = None) -> bytes:
    """The message that tells a listener that events between two positions were left out. `count`: the number of these
    events, whatever their kind; None if unknown."""
    return stream_response.message({"after": missed.after, "before": missed.before, "count": count}, "left-out")


def store_notice(problem: str) -> bytes:
    """A message to listeners: the store is away because of `problem`; with an empty problem, the store is back."""
    return stream_response.message({"away": bool(problem), "problem": problem}, "store")


# Lanes and handlers of the tasks that events are about. Events do not name them, so they are looked up if a listener's
# selection needs them. Those of the last tasks are kept.

REMEMBERED = 10_000  # tasks
REMEMBERED_WORKERS = 1000
PLACES_AT_ONCE = 25  # tasks looked up for one batch of events


@dataclass(slots=True)
class TaskPlaces:
    store: Store
    known: dict[str, TaskPlace] = field(default_factory=dict[str, TaskPlace])
    workers: dict[str, str] = field(default_factory=dict[str, str])
    _records: dict[str, WorkerRecord | None] = field(default_factory=dict[str, "WorkerRecord | None"])

    async def learn(self, events: Iterable[Happening], most: int = PLACES_AT_ONCE) -> int:
        """Look up at most `most` tasks of these events, the latest first. The answer is the number of other tasks."""
        wanted = dict.fromkeys(
            event.subject
            for event in reversed(list(events))
            if event.subject not in self.known and not event.event.startswith(NOT_OF_TASKS)
        )
        await asyncio.gather(*(self._look_up(task_id) for task_id in list(wanted)[:most]))
        while len(self.known) > REMEMBERED:
            del self.known[next(iter(self.known))]
        return max(0, len(wanted) - most)

    async def learn_workers(self, events: Iterable[Happening], most: int = PLACES_AT_ONCE) -> None:
        """Look up the names of at most `most` workers of these events. A worker that the store no longer has stays
        without a name."""
        named = dict.fromkeys(map(worker_of, events))
        unknown = [each for each in named if each and each not in self._records][:most]
        if unknown:
            self._records |= dict.fromkeys(unknown) | await self.store.incarnations(unknown)
            for oldest in list(self._records)[:-REMEMBERED_WORKERS]:
                del self._records[oldest]
            self.workers.clear()
            self.workers.update(brief_names(self._records))

    async def _look_up(self, task_id: str) -> None:
        try:
            record = await self.store.get(task_id, payloads=False)
        except StoreError:
            return
        self.known[task_id] = TaskPlace(record.lane, record.name) if record else TaskPlace("", "")


EVERY = 0.1  # seconds between two reads while events come
AT_ONCE = 250  # approximate number of events of one read: an entry of the stream may be several events
KEPT = 64  # batches that are kept for slow listeners
LAG_MS = 5000
BLOCK = 5.0  # seconds of one read while no events come
RETRY_EVERY = 0.5  # seconds between two tries while the store is away
LINGER = 2.0  # seconds for which a feed without listeners goes on reading: the browser's next page listens again


_log = structlog.get_logger("holdfast.web")


@dataclass(frozen=True, slots=True, eq=False)
class Listening:
    selection: EventSelection
    every: float


@dataclass(slots=True)
class EventFeed:
    """Reads the event stream for all listeners. `position`: the position of the last event that was read. `problem`:
    why the store cannot be read now; empty if it can."""

    access: QueueAccess
    position: str = field(default="", init=False)
    problem: str = field(default="", init=False)
    closed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    reads: int = field(default=0, init=False)
    places: TaskPlaces = field(init=False)
    _batches: deque[EventBatch] = field(default_factory=lambda: deque[EventBatch](maxlen=KEPT), init=False)
    _published: int = field(default=0, init=False)  # batches so far
    _total: int = field(default=0, init=False)  # events so far
    _listening: set[Listening] = field(default_factory=set[Listening], init=False)
    _reader: asyncio.Task[None] | None = field(default=None, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _per_entry: float = field(default=1.0, init=False)  # events of an entry in the last read

    def __post_init__(self) -> None:
        self.places = TaskPlaces(self.access.store)

    @property
    def is_reading(self) -> bool:
        return self._reader is not None and not self._reader.done()

    @asynccontextmanager
    async def joined(self, selection: EventSelection, every: float = EVERY) -> AsyncGenerator[None]:
        """A context manager: while its block runs, the caller listens to this feed. For the first listener it raises
        StoreError if the store is away."""
        listening = Listening(selection, every)
        self._listening.add(listening)
        try:
            async with self._starting:
                if not self.is_reading:
                    newest = await self.access.store.events_before("", 1)
                    self.position = newest[0].position if newest else "0-0"
                    self.problem = ""
                    self._batches.clear()
                    self._reader = asyncio.create_task(self._read())
            yield
        finally:
            self._listening.discard(listening)

    def news(self) -> AsyncGenerator[list[EventBatch | bytes]]:
        """Yield the batches of events from now on, until the feed is closed. An item is the list of all batches since
        the item before; bytes in the list are a message about missed events."""
        return self._news_behind(self._published, self._total, self.position)

    async def _news_behind(self, number: int, total: int, position: str) -> AsyncGenerator[list[EventBatch | bytes]]:
        while not self.closed.is_set():
            if number == self._published:
                await self._news.wait()
                continue
            kept, new = list(self._batches), list[EventBatch | bytes]()
            first = self._published - len(kept)
            if number < first:
                before = next((batch.events[0].position for batch in kept if batch.events), self.position)
                new.append(left_out(MissedEvents(position, before), kept[0].start - total))
            new += kept[max(0, number - first) :]
            number, total, position = self._published, self._total, self.position
            yield new

    async def close(self) -> None:
        """End the reader and the streams of all listeners."""
        self.closed.set()
        self._news.set()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait((self._reader,))

    async def _read(self) -> None:
        unused = 0.0
        while unused < LINGER:
            try:
                await self._read_once()
            except StoreError as error:
                self._note(str(error))
                await asyncio.sleep(RETRY_EVERY)
            except Exception:
                _log.exception("the events of the queue could not be read")
                await asyncio.sleep(RETRY_EVERY)
            every = min((each.every for each in self._listening), default=EVERY)
            await asyncio.sleep(every)
            unused = 0.0 if self._listening else unused + every

    async def _read_once(self) -> None:
        timeout = BLOCK if self._listening and not self.problem else 0.0
        page = await self.access.store.events(self.position, self._limit(), timeout)
        self._note("")
        self.reads += 1
        if page.events:
            await self._take(page)

    def _limit(self) -> int:
        """The number of stream entries to ask for in the next read."""
        return max(8, min(AT_ONCE, round(AT_ONCE / self._per_entry)))

    async def _take(self, page: Happenings) -> None:
        """Publish the events of a read. If the feed is too far behind, skip to the end of the stream."""
        events = page.events
        entries = len({event.position for event in events})
        notice = left_out(MissedEvents(self.position, events[0].position)) if page.missed else b""
        is_full, self._per_entry = entries >= self._limit(), len(events) / entries
        self.position = events[-1].position
        wanted = [event for event in events if self._is_wanted(event)]
        unplaced = await self.places.learn(wanted)
        await self.places.learn_workers(wanted)
        self._publish(events, notice, unplaced)
        if is_full:
            newest = (await self.access.store.events_before("", 1) or events[-1:])[0]
            if newest.at_ms - events[-1].at_ms > LAG_MS:
                self._publish((), left_out(MissedEvents(self.position, newest.position)))
                self.position = newest.position

    def _is_wanted(self, event: Happening) -> bool:
        selections = (each.selection for each in self._listening)
        return any((one.needs_places or one.shows_places) and one.concerns(event) for one in selections)

    def _note(self, problem: str) -> None:
        """Tell listeners once that the store is away, and once that it is back."""
        if bool(problem) != bool(self.problem):
            self.problem = problem
            self._publish((), store_notice(problem))

    def _publish(self, events: tuple[Happening, ...], notice: bytes, unplaced: int = 0) -> None:
        text = cache(self.access.redaction.text)  # many events have the same detail
        self._batches.append(
            EventBatch(self._total, events, self.places.known, text, notice, unplaced, self.places.workers)
        )
        self._total += len(events)
        self._published += 1
        news, self._news = self._news, asyncio.Event()
        news.set()
