"""Events: the last ones that are selected, and new ones as they come."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.activity import Happening
from holdfast.core.trail import EVENTS
from holdfastd.web.http.addresses import stream_position
from holdfastd.web.live.event_feed import EventFeed
from holdfastd.web.live.event_selection import EventSelection
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

LAST = 100  # events of a page
LOOKS = 8  # into the stream, for one page
AT_ONCE = 250  # entries of the stream; each may be an event of several tasks
AT_ONCE_PLACED = 10  # where the task of each is looked up


@dataclass(frozen=True, slots=True)
class FoundEvents:
    """Newest first. `newest`: the position of the stream's end; `before`: where to go on, empty at the end."""

    events: list[Happening]
    newest: str
    before: str


async def events(request: Request) -> Response:
    selection = EventSelection.of(request.query_params)
    before = stream_position(request, "before")
    found = await _found(request, selection, before)
    return page(request, "events.html", found=found, selection=selection, kinds=sorted(EVENTS), is_live=not before)


async def _found(request: Request, selection: EventSelection, before: str) -> FoundEvents:
    store, feed = queue_of(request).store, request.app.state.feed
    assert isinstance(feed, EventFeed)
    size = AT_ONCE_PLACED if selection.needs_places else AT_ONCE
    events, newest = list[Happening](), ""
    for _ in range(LOOKS):
        looked = await store.events_before(before, size)
        newest = newest or (looked[0].position if looked else "0-0")
        if selection.needs_places:
            await feed.places.learn((each for each in looked if selection.concerns(each)), len(looked))
        for each in looked:
            if len(events) >= LAST and each.position != events[-1].position:
                return FoundEvents(events, newest, events[-1].position)
            if selection.matches(each, feed.places.known):
                events.append(each)
        before = looked[-1].position if looked else ""
        if not before:
            break
    return FoundEvents(events, newest, before)
