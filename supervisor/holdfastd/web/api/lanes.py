"""Operations on lanes, on limits of handlers, and on waiting entries."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from holdfastd.documents.queue_documents import LaneDocument, QuietDocument, lane_document, quiet_documents, rate_words
from holdfastd.documents.task_documents import TaskCounts, decoded, task_counts
from holdfastd.operations.lanes import (
    LIMIT_HANDLER,
    LIMIT_LANE,
    PAUSE_LANE,
    RESET_HANDLER,
    RESET_LANE,
    RESUME_LANE,
    shown_lane,
)
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit


class LaneList(TypedDict):
    """`handlers`: the limits of rates by handler; `quiet`: orders to hosts to claim nothing."""

    lanes: list[LaneDocument]
    handlers: dict[str, str]
    quiet: list[QuietDocument]


class QueueLength(TypedDict):
    """The number of waiting entries, and that of each lane."""

    length: int
    lanes: dict[str, int]


class PeekQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    lane: Annotated[str | None, Meta(description="Name of the lane. Default: the queue itself.")] = None
    limit: Limit = 10


class PeekedEntries(TypedDict):
    """The next entries, each a JSON value, or its text if it is none."""

    entries: list[Any]


async def list_lanes(call: ApiCall) -> LaneList:
    """List lanes: waiting and running tasks, workers, weight, timeout, limits, and why a lane does not move."""
    snapshot = await call.manager.lanes(*call.access.settings.lane_names)
    return {
        "lanes": [lane_document(lane, snapshot) for lane in snapshot.lanes],
        "handlers": {name: rate_words(order) for name, order in snapshot.handlers.items()},
        "quiet": quiet_documents(await call.store.quiet_hosts()),
    }


async def get_lane(call: ApiCall, lane: str) -> LaneDocument:
    """Show one lane in full."""
    name = await shown_lane(call.store, call.access.settings, lane)
    snapshot = await call.manager.lanes(name)
    found = next(each for each in snapshot.lanes if each.name == name)
    return lane_document(found, snapshot)


async def queue_length(call: ApiCall) -> QueueLength:
    """Show the number of waiting entries of each lane."""
    lanes = (await call.store.counts()).lanes
    return {"length": sum(lanes.values()), "lanes": lanes}


async def queue_count(call: ApiCall) -> TaskCounts:
    """Count tasks by state."""
    return task_counts(await call.store.counts())


async def queue_peek(call: ApiCall, query: PeekQuery) -> PeekedEntries:
    """Show the next entries without removing them."""
    settings = call.access.settings
    lane = settings.queue_name if query.lane is None else await shown_lane(call.store, settings, query.lane)
    return {"entries": [decoded(entry) for entry in await call.store.peek_entries(lane, query.limit)]}


LIMITS = {"running": 20, "per_key": None, "rate": "100/m"}
LANES = (
    ApiOperation("GET", "/lanes", list_lanes),
    ApiOperation("GET", "/lanes/{lane}", get_lane),
    route("POST", "/lanes/{lane}/pause", PAUSE_LANE),
    route("POST", "/lanes/{lane}/resume", RESUME_LANE),
    route("PUT", "/lanes/{lane}/limits", LIMIT_LANE, examples={"limits": LIMITS}),
    route("DELETE", "/lanes/{lane}/limits", RESET_LANE),
    route("PUT", "/handlers/{handler}/limits", LIMIT_HANDLER, examples={"rate": {"rate": "5/s"}}),
    route("DELETE", "/handlers/{handler}/limits", RESET_HANDLER),
    ApiOperation("GET", "/queue/length", queue_length),
    ApiOperation("GET", "/queue/count", queue_count),
    ApiOperation("GET", "/queue/peek", queue_peek),
)
