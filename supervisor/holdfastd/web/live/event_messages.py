"""The messages that a listener gets: each selected event, or a word at most every two seconds that something has
happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from holdfast.client.event_stream import MissedEvents
from holdfast.core.tasks import Happenings
from holdfastd.web.live import messages
from holdfastd.web.live.event_batch import EventBatch, left_out
from holdfastd.web.live.event_feed import EventFeed
from holdfastd.web.live.event_selection import EventSelection

PAGE = 250  # entries of the stream
MOST_PAGES = 8  # read for a listener that goes on behind a position
PLACE_EVERY = 50  # reads without a selected event after which the position is told
CHANGED_EVERY = 2.0  # seconds: as often as a page asks by itself


async def selected(feed: EventFeed, selection: EventSelection, after: str) -> AsyncGenerator[bytes]:
    """The selected events behind a position (empty: new ones), without end."""
    async with feed.joined(selection), aclosing(feed.news()) as news:
        began_at, quiet = feed.position, 0
        yield messages.BEGINNING
        if feed.problem:
            yield messages.message({"away": True, "problem": feed.problem}, "store")
        if after:
            async for text in _earlier(feed, selection, after, began_at):
                yield text
        async for batches in news:
            text = b"".join(each.encoded(selection) if isinstance(each, EventBatch) else each for each in batches)
            quiet = 0 if text else quiet + 1
            if quiet == PLACE_EVERY:
                text, quiet = messages.place(feed.position), 0
            if text:
                yield text


async def changes(feed: EventFeed, selection: EventSelection) -> AsyncGenerator[bytes]:
    """`changed`, when a selected event has happened."""
    async with feed.joined(selection, CHANGED_EVERY), aclosing(feed.news()) as news:
        yield messages.BEGINNING
        async for batches in news:
            if any(not isinstance(each, EventBatch) or each.concerns(selection) for each in batches):
                yield messages.message({}, "changed")
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
