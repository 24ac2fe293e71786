"""Event streams: the pages' `/events/stream` and `/events/changes`, and the API's stream of one task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.query import SETTLED, subscription
from holdfast.client.queue_views import MissedEvents
from holdfast.core.activity import Happenings
from holdfast.core.delivery import EmittedPart
from holdfast.core.progress import Progress
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import TrailStep, read_trail
from holdfast.errors import HoldfastError, StoreUnavailableError
from holdfast.store import Store
from holdfast.why.times import moment
from holdfastd.web.live import stream_response
from holdfastd.web.live.event_feed import EventBatch, EventFeed, EventSelection, left_out, number, store_notice
from holdfastd.web.live.stream_response import stream
from holdfastd.web.queue.queue_access import QueueAccess, position_of, queue_of, stream_position

# Follows one task: the steps of its history and the parts that it emits, as they come, until the task has ended or asks
# for input.
#
# `task_updates(access, task_id, after)` is an async generator. Its first item may raise UnknownTaskError,
# InvalidTaskError or StoreUnavailableError. Later the generator waits while the store is away. It raises
# UnknownTaskError if the task is removed. Close the generator with `contextlib.aclosing`.
#
#     async with aclosing(task_updates(access, task_id)) as updates:
#         async for update in updates:
#             match update:
#                 case TaskChanged(record=record, steps=steps): ...   # record.state, record.result …
#                 case PartEmitted(part=part): ...                    # part.value
#
# The generator reads the store's record again at each notice. So a lost notice delays an item, but loses none. Each
# item has a `position`. `str(position)` is the id of a message in an event stream. To continue behind it, in any
# process, pass `TaskPosition.read(text)` as `after`.

LOOK_EVERY = 1.0  # seconds without a notice after which the record is read again: a claim gives no notice
RETRY_EVERY = 0.5  # seconds between two tries while the store is away


class TaskPosition(NamedTuple):
    """A position in the updates of a task. `at_ms`: the moment of the last step; `steps`: the number of steps in that
    millisecond; `part`: the position of the last part."""

    at_ms: int = 0
    steps: int = 0
    part: int = 0

    @classmethod
    def read(cls, text: str) -> Self:
        """The position that `str(position)` has written. Raises ValueError for any other text."""
        numbers = text.split("-")
        if len(numbers) != 3 or not all(n.isascii() and n.isdigit() and len(n) < 17 for n in numbers):
            raise ValueError(f"{text[:50]!r}: a position such as 1700000000000-1-0 is expected")
        return cls(*map(int, numbers))

    def __str__(self) -> str:
        return f"{self.at_ms}-{self.steps}-{self.part}"


BEGINNING = TaskPosition()


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """The whole task now, and the new steps of its history since the change before; of very many, only the latest.

    The first item is a TaskChanged. If the task has already ended or asks for input, the TaskChanged comes last, after
    all parts. `steps` is empty if only the task's progress has changed, or nothing since the given position.
    """

    position: TaskPosition
    record: TaskRecord[Any]
    steps: tuple[TrailStep, ...]


@dataclass(frozen=True, slots=True)
class PartEmitted:
    """A part that the handler has emitted. If `part.run` is higher than in the part before, the task runs again from
    its beginning."""

    position: TaskPosition
    part: EmittedPart


async def task_updates(
    access: QueueAccess, task_id: str, after: TaskPosition = BEGINNING
) -> AsyncGenerator[TaskChanged | PartEmitted]:
    """The changes and parts of a task behind a position, until the task has ended or asks for input."""
    follower = _TaskFollower(access, task_id, after)
    wake = asyncio.Event()
    heeding = asyncio.create_task(_heed(access.store, task_id, wake))
    try:
        while not follower.is_over:
            wake.clear()
            try:
                async for update in follower.look():
                    yield update
            except StoreUnavailableError:
                if not follower.has_begun:
                    raise
                await asyncio.sleep(RETRY_EVERY)
                continue
            if not follower.is_over:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await wake.wait()
    finally:
        heeding.cancel()
        await asyncio.wait((heeding,))


async def _heed(store: Store, task_id: str, wake: asyncio.Event) -> None:
    """Set `wake` at each notice of the task, and once when the subscription is complete."""
    while True:
        try:
            async with subscription(store.emitted(task_id)) as notices:
                async for _ in notices:
                    wake.set()
        except StoreUnavailableError:
            await asyncio.sleep(RETRY_EVERY)


@dataclass(slots=True)
class _TaskFollower:
    access: QueueAccess
    task_id: str
    position: TaskPosition
    is_over: bool = False
    _last: TaskRecord[Any] | None = field(default=None, init=False)  # without payloads

    @property
    def has_begun(self) -> bool:
        return self._last is not None

    async def look(self) -> AsyncGenerator[TaskChanged | PartEmitted]:
        """All new changes and parts. The record is read before the parts, so the parts of a settled task are
        complete."""
        change = None
        if self._last is None or await self.access.store.get(self.task_id, payloads=False) != self._last:
            change = await self.access.manager.get_task(self.task_id)
            self._last = replace(change, operation=None, result=None, checkpoint=None)
            self.is_over = change.state in SETTLED
        if change and not self.is_over:
            yield self._changed(change)
        async for part in self._parts():
            yield part
        if change and self.is_over:
            yield self._changed(change)

    def _changed(self, record: TaskRecord[Any]) -> TaskChanged:
        steps = read_trail(record.trail)
        at_ms, count, part = self.position
        same = sum(step.at_ms == at_ms for step in steps)
        later = [step for step in steps if step.at_ms > at_ms]
        new = ([step for step in steps if step.at_ms == at_ms][count:] if same > count else []) + later
        if new:
            last = new[-1].at_ms
            self.position = TaskPosition(last, sum(step.at_ms == last for step in steps), part)
        return TaskChanged(self.position, record, tuple(new))

    async def _parts(self) -> AsyncGenerator[PartEmitted]:
        is_whole = False
        while not is_whole:
            page = await self.access.store.emitted_parts(self.task_id, self.position.part)
            for part in page.parts:
                self.position = self.position._replace(part=part.position)
                yield PartEmitted(self.position, part)
            if not page.parts:  # a store that has lost parts goes on from an earlier position
                self.position = self.position._replace(part=min(self.position.part, page.last))
            is_whole = page.is_whole


# The messages that a listener gets: either the selected events, or the message `changed` at most every two seconds.

PAGE = 250  # entries of the stream in one read
MOST_PAGES = 8  # reads for a listener that continues behind a position
PLACE_EVERY = 50  # reads without a selected event after which the listener gets the position
CHANGED_EVERY = 2.0  # seconds: as often as a page reloads by itself


async def selected_messages(feed: EventFeed, selection: EventSelection, after: str) -> AsyncGenerator[bytes]:
    """Messages with the selected events, without end. `after`: first the kept events behind this position; empty: only
    new events."""
    async with feed.joined(selection), aclosing(feed.news()) as news:
        began_at, quiet = feed.position, 0
        yield stream_response.BEGINNING
        if feed.problem:
            yield store_notice(feed.problem)
        if after:
            async for text in _earlier(feed, selection, after, began_at):
                yield text
        async for batches in news:
            new = (each.behind(after) if isinstance(each, EventBatch) else each for each in batches)  # the feed may lag
            text = b"".join(each.encoded(selection) if isinstance(each, EventBatch) else each for each in new)
            quiet = 0 if text else quiet + 1
            if quiet == PLACE_EVERY:
                text, quiet = stream_response.place(feed.position), 0
            if text:
                yield text


async def change_messages(feed: EventFeed, selection: EventSelection) -> AsyncGenerator[bytes]:
    """The message `changed` when a selected event has happened, at most every CHANGED_EVERY seconds."""
    async with feed.joined(selection, CHANGED_EVERY), aclosing(feed.news()) as news:
        yield stream_response.BEGINNING
        async for batches in news:
            if any(not isinstance(each, EventBatch) or each.concerns(selection) for each in batches):
                yield stream_response.message({}, "changed")
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHANGED_EVERY):
                        await feed.closed.wait()


async def _earlier(feed: EventFeed, selection: EventSelection, after: str, until: str) -> AsyncGenerator[bytes]:
    """Messages with the selected events between two positions. If there are very many, only the first ones, and a
    message about the rest."""
    position, pages, is_whole = after, 0, False
    while not is_whole and pages < MOST_PAGES:
        page: Happenings = await feed.access.store.events(position, PAGE)
        events = tuple(event for event in page.events if number(event.position) <= number(until))
        if page.missed and page.events:
            yield left_out(MissedEvents(position, page.events[0].position))
        if selection.needs_places or selection.shows_places:
            wanted = [event for event in events if selection.concerns(event)]
            await feed.places.learn(wanted)
            await feed.places.learn_workers(wanted)
        batch = EventBatch(0, events, feed.places.known, feed.access.redaction.text, workers=feed.places.workers)
        if text := batch.encoded(selection):
            yield text
        is_whole = len(events) < len(page.events) or not events
        position, pages = events[-1].position if events else position, pages + 1
        await asyncio.sleep(0)
    if not is_whole and number(position) < number(until):
        yield left_out(MissedEvents(position, until))


LAST_EVENT_ID = "last-event-id"


async def events(request: Request) -> Response:
    """The stream of selected events: new ones, or those behind `?after=` or Last-Event-ID."""
    selection = EventSelection.of(request.query_params)
    after = position_of(LAST_EVENT_ID, request.headers.get(LAST_EVENT_ID, "")) or stream_position(request, "after")
    return await stream(request, selected_messages(_feed(request), selection, after))


async def changes(request: Request) -> Response:
    """The stream of `changed` messages: at most one in two seconds, when a selected event has happened. A page then
    reloads. For the page of one task, also its `progress` messages, at most ten a second."""
    selection = EventSelection.of(request.query_params)
    messages = change_messages(_feed(request), selection)
    if selection.task:
        messages = _joined(messages, _progress_messages(queue_of(request), selection.task))
    return await stream(request, messages)


async def _progress_messages(access: QueueAccess, task_id: str) -> AsyncGenerator[bytes]:
    """The progress of a task, until the task has ended or asks for input."""
    with suppress(HoldfastError):  # the task is unknown, or the store is away: the page says so
        async with aclosing(access.manager.progress(task_id)) as shown:
            async for progress in shown:
                told = _bar(access, progress) | {"line": access.redaction.text(str(progress))}
                yield stream_response.message(told, "progress")


async def _joined(first: AsyncGenerator[bytes], second: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The messages of both streams as they come, until the first one ends. An error of its first item is raised."""
    ready: asyncio.Queue[bytes | None] = asyncio.Queue(1)

    async def pump(messages: AsyncGenerator[bytes], *last: None) -> None:
        try:
            async with aclosing(messages):
                async for message in messages:
                    await ready.put(message)
        finally:
            for end in last:
                await ready.put(end)

    yield await anext(first)
    pumps = [asyncio.create_task(pump(first, None)), asyncio.create_task(pump(second))]
    try:
        while (message := await ready.get()) is not None:
            yield message
    finally:
        for each in pumps:
            each.cancel()
        await asyncio.wait(pumps)


async def task_stream(request: Request, task_id: str) -> Response:
    """The stream of a task. `change` has its state and the new steps of its history, `part` a part of its answer; `end`
    says that the task has ended or asks for input. Last-Event-ID or `?after=` continues a stream."""
    given = request.headers.get(LAST_EVENT_ID, "") or request.query_params.get("after", "")
    try:
        after = TaskPosition.read(given) if given else BEGINNING
    except ValueError as error:
        raise HTTPException(400, f"after {error}") from None
    return await stream(request, _task_messages(queue_of(request), task_id, after))


async def _task_messages(access: QueueAccess, task_id: str, after: TaskPosition) -> AsyncGenerator[bytes]:
    async with aclosing(task_updates(access, task_id, after)) as updates:
        async for update in updates:
            match update:
                case TaskChanged():
                    yield stream_response.message(_change(access, update), "change", str(update.position))
                case PartEmitted():
                    yield stream_response.message(_part(access, update), "part", str(update.position))
    yield stream_response.message({}, "end")


def _change(access: QueueAccess, update: TaskChanged) -> dict[str, object]:
    hide, record = access.redaction.text, update.record
    steps = [
        {"at": moment(step.at_ms), "event": step.event, "kind": step.kind, "reason": hide(step.reason)}
        for step in update.steps
    ]
    progress = {"progress": hide(record.progress), "bar": record.bar and _bar(access, record.bar)}
    return {"state": record.state, "turn": record.turn, **progress, "steps": steps}


def _bar(access: QueueAccess, progress: Progress) -> dict[str, object]:
    return {"done": progress.done, "total": progress.total, "text": access.redaction.text(progress.text)}


def _part(access: QueueAccess, update: PartEmitted) -> dict[str, object]:
    part = update.part
    return {
        "position": part.position,
        "run": part.run,
        "at": moment(part.at_ms),
        "value": access.redaction.of_parts.value(part.value),
    }


def _feed(request: Request) -> EventFeed:
    feed = request.app.state.feed
    assert isinstance(feed, EventFeed)
    return feed
