"""The pages of events and of activity: what happened to tasks, and what operators changed."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.activity import Activity, Happening
from holdfast.core.trail import EVENTS
from holdfastd.web.live.event_feed import EventFeed, EventSelection
from holdfastd.web.queue.queue_access import queue_of, stream_position
from holdfastd.web.rendering import page

LAST = 100  # events of a page
LOOKS = 8  # reads of the stream for one page
AT_ONCE = 250  # entries of one read; an entry may be an event of several tasks
AT_ONCE_PLACED = 10  # entries of one read if the task of each event must be looked up


@dataclass(frozen=True, slots=True)
class FoundEvents:
    """A page of events, newest first. `newest`: the position of the stream's end. `before`: continues the list, empty
    on the last page."""

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


# Activity: the changes that operators asked for by commands, pages, the API and the agent.

PAGE = 100
SEARCHED = 1000  # changes that are read for one page with a filter


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Selects entries of Activity. A field is a text that the entry's field must contain; empty: any."""

    who: str
    change: str
    subject: str

    @property
    def is_any(self) -> bool:
        return not (self.who or self.change or self.subject)

    def admits(self, entry: Activity) -> bool:
        return self.who in entry.who and self.change in entry.change and self.subject in entry.subject


async def activity(request: Request) -> Response:
    query = request.query_params
    wanted = ActivityFilter(*(query.get(field, "").strip() for field in ("who", "change", "subject")))
    before = stream_position(request, "before")
    limit = PAGE if wanted.is_any else SEARCHED
    read = await queue_of(request).store.activity_before(before, limit)
    found = [entry for entry in read if wanted.admits(entry)]
    shown = found[:PAGE]
    last = shown if len(found) > PAGE else read
    return page(
        request,
        "activity.html",
        wanted=wanted,
        entries=shown,
        earlier=last[-1].position if last and (len(read) == limit or len(found) > PAGE) else "",
    )
