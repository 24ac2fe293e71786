"""Addresses of event streams: `/events/stream`, `/events/changes`, and one task's (`task_stream`, for the API)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.why.times import moment
from holdfastd.web.http.stream_position import position_of, stream_position
from holdfastd.web.live import event_messages, messages
from holdfastd.web.live.event_feed import EventFeed
from holdfastd.web.live.event_selection import EventSelection
from holdfastd.web.live.stream_response import stream
from holdfastd.web.live.task_updates import BEGINNING, PartEmitted, TaskChanged, TaskPosition, task_updates
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

LAST_EVENT_ID = "last-event-id"


async def events(request: Request) -> Response:
    """The selected events: new ones, or those behind `?after=` or Last-Event-ID."""
    selection = EventSelection.of(request.query_params)
    after = position_of(LAST_EVENT_ID, request.headers.get(LAST_EVENT_ID, "")) or stream_position(request, "after")
    return await stream(request, event_messages.selected(_feed(request), selection, after))


async def changes(request: Request) -> Response:
    """`changed` at most every two seconds, when a selected event has happened: a page asks again."""
    selection = EventSelection.of(request.query_params)
    return await stream(request, event_messages.changes(_feed(request), selection))


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
                    yield messages.message(_change(access, update), "change", str(update.position))
                case PartEmitted():
                    yield messages.message(_part(access, update), "part", str(update.position))
    yield messages.message({}, "end")


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
