"""Addresses of event streams: `/events/stream`, `/events/changes`, and one task's (`task_stream`, for the API)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.queue_views import MissedEvents
from holdfast.core.activity import Happenings
from holdfast.why.times import moment
from holdfastd.web.http.addresses import position_of, stream_position
from holdfastd.web.live import stream_response
from holdfastd.web.live.event_feed import EventBatch, EventFeed, left_out
from holdfastd.web.live.event_selection import EventSelection
from holdfastd.web.live.stream_response import stream
from holdfastd.web.live.task_updates import BEGINNING, PartEmitted, TaskChanged, TaskPosition, task_updates
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

# The messages that a listener gets: each selected event, or a word at most every two seconds that something has
# happened.

PAGE = 250  # entries of the stream
MOST_PAGES = 8  # read for a listener that goes on behind a position
PLACE_EVERY = 50  # reads without a selected event after which the position is told
CHANGED_EVERY = 2.0  # seconds: as often as a page asks by itself


async def selected_messages(feed: EventFeed, selection: EventSelection, after: str) -> AsyncGenerator[bytes]:
    """The selected events behind a position (empty: new ones), without end."""
    async with feed.joined(selection), aclosing(feed.news()) as news:
        began_at, quiet = feed.position, 0
        yield stream_response.BEGINNING
        if feed.problem:
            yield stream_response.message({"away": True, "problem": feed.problem}, "store")
        if after:
            async for text in _earlier(feed, selection, after, began_at):
                yield text
        async for batches in news:
            text = b"".join(each.encoded(selection) if isinstance(each, EventBatch) else each for each in batches)
            quiet = 0 if text else quiet + 1
            if quiet == PLACE_EVERY:
                text, quiet = stream_response.place(feed.position), 0
            if text:
                yield text


async def change_messages(feed: EventFeed, selection: EventSelection) -> AsyncGenerator[bytes]:
    """`changed`, when a selected event has happened."""
    async with feed.joined(selection, CHANGED_EVERY), aclosing(feed.news()) as news:
        yield stream_response.BEGINNING
        async for batches in news:
            if any(not isinstance(each, EventBatch) or each.concerns(selection) for each in batches):
                yield stream_response.message({}, "changed")
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHANGED_EVERY):
                        await feed.closed.wait()


async def _earlier(feed: EventFeed, selection: EventSelection, after: str, until: str) -> AsyncGenerator[bytes]:
    """The selected events between two positions, of a great many the first ones, and a word about the others."""
    position, pages, is_whole = after, 0, False
    while not is_whole and pages < MOST_PAGES:
        page: Happenings = await feed.access.store.events(position, PAGE)
        events = tuple(event for event in page.events if number(event.position) <= number(until))
        if page.missed and page.events:
            yield left_out(MissedEvents(position, page.events[0].position))
        if selection.needs_places:
            await feed.places.learn(event for event in events if selection.concerns(event))
        batch = EventBatch(0, events, feed.places.known, feed.access.redaction.text)
        if text := batch.encoded(selection):
            yield text
        is_whole = len(events) < len(page.events) or not events
        position, pages = events[-1].position if events else position, pages + 1
        await asyncio.sleep(0)
    if not is_whole and number(position) < number(until):
        yield left_out(MissedEvents(position, until))


def number(position: str) -> tuple[int, int]:
    """A position, for comparisons."""
    ms, _, part = position.partition("-")
    return int(ms), int(part or 0)


LAST_EVENT_ID = "last-event-id"


async def events(request: Request) -> Response:
    """The selected events: new ones, or those behind `?after=` or Last-Event-ID."""
    selection = EventSelection.of(request.query_params)
    after = position_of(LAST_EVENT_ID, request.headers.get(LAST_EVENT_ID, "")) or stream_position(request, "after")
    return await stream(request, selected_messages(_feed(request), selection, after))


async def changes(request: Request) -> Response:
    """`changed` at most every two seconds, when a selected event has happened: a page asks again."""
    selection = EventSelection.of(request.query_params)
    return await stream(request, change_messages(_feed(request), selection))


async def task_stream(request: Request, task_id: str) -> Response:
    """All that happens to a task, to its end: `change` with its state and the new steps of its history, `part` with a
    part of its answer, `end` when it has ended or asks for input. Goes on behind Last-Event-ID or `?after=`."""
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
    return {"state": record.state, "turn": record.turn, "progress": hide(record.progress), "steps": steps}


def _part(access: QueueAccess, update: PartEmitted) -> dict[str, object]:
    part = update.part
    return {
        "position": part.position,
        "run": part.run,
        "at": moment(part.at_ms),
        "value": access.redaction.value(part.value),
    }


def _feed(request: Request) -> EventFeed:
    feed = request.app.state.feed
    assert isinstance(feed, EventFeed)
    return feed
