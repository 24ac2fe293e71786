"""Operations on lanes, on limits of handlers, and on waiting entries."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_lane, check_name
from holdfast.core.lanes import NO_BOUND, LaneBound, LaneLimit
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError
from holdfast_config.lanes import MOST
from holdfast_config.lanes import rate as read_rate
from holdfastd.documents.host_documents import QuietDocument, quiet_documents
from holdfastd.documents.lane_documents import LaneDocument, lane_document, rate_words
from holdfastd.documents.task_documents import TaskCounts, decoded, task_counts
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit, Reasoned
from holdfastd.web.queue.errors import NotFoundError

Count = Annotated[int, Meta(ge=1, le=MOST)]
Rate = Annotated[str, Meta(max_length=50, description="Starts in a time: 10/s, 100/m, 20/10s.", examples=["100/m"])]


class LaneList(TypedDict):
    """`handlers`: the limits of rates by handler; `quiet`: orders to hosts to claim nothing."""

    lanes: list[LaneDocument]
    handlers: dict[str, str]
    quiet: list[QuietDocument]


class ChangedSubject(TypedDict):
    """The answer to a change."""

    subject: str
    answer: str


class GivenLaneLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Limits over all hosts; null: none. One that is not given stays as it is. `running`: tasks that run at once;
    `per_key`: of these, tasks of one concurrency key; `rate`: starts in a time, `burst` at once after idle time."""

    running: Count | msgspec.UnsetType | None = msgspec.UNSET
    per_key: Count | msgspec.UnsetType | None = msgspec.UNSET
    rate: Rate | msgspec.UnsetType | None = msgspec.UNSET
    burst: Count | msgspec.UnsetType = msgspec.UNSET


class GivenHandlerLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The rate of a handler over all hosts; null: none."""

    rate: Rate | None
    burst: Count | msgspec.UnsetType = msgspec.UNSET


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
    name = check_lane(lane)
    snapshot = await call.manager.lanes(name)
    found = next((each for each in snapshot.lanes if each.name == name), None)
    if found is None:
        raise NotFoundError(f"no lane {name}")
    return lane_document(found, snapshot)


async def pause_lane(call: ApiCall, lane: str, body: Reasoned) -> ChangedSubject:
    """Start no more tasks of a lane on any host. Running tasks finish, and new tasks are accepted and wait."""
    is_new = await call.manager.pause_queue(lane, call.reason("paused", body.reason))
    return {"subject": lane, "answer": "paused" if is_new else "was paused already"}


async def resume_lane(call: ApiCall, lane: str) -> ChangedSubject:
    """Start tasks of a paused lane again."""
    was_paused = await call.manager.resume_queue(lane)
    return {"subject": lane, "answer": "resumed" if was_paused else "was not paused"}


async def set_lane(call: ApiCall, lane: str, body: GivenLaneLimits) -> ChangedSubject:
    """Limit the running tasks of a lane, over all hosts. Overrides the settings."""
    name = check_lane(lane)
    given = ((LaneBound.LIMIT, body.running), (LaneBound.KEYS, body.per_key), (LaneBound.RATE, body.rate))
    rules = [
        LaneLimit(bound, name, _rate(value, body.burst) if bound is LaneBound.RATE else _count(value))
        for bound, value in given
        if value is not msgspec.UNSET
    ]
    if not rules:
        raise InvalidTaskError("running: no limit is given; give running, per_key or rate")
    if body.burst is not msgspec.UNSET and not isinstance(body.rate, str):
        raise InvalidTaskError(f"burst {body.burst}: it needs a rate")
    return _bounded(name, await call.store.bound(rules))


async def reset_lane(call: ApiCall, lane: str) -> ChangedSubject:
    """Remove the limits of a lane that operators have set; those of the settings apply again."""
    name = check_lane(lane)
    kinds = (LaneBound.LIMIT, LaneBound.KEYS, LaneBound.RATE)
    return _bounded(name, await call.store.bound([LaneLimit(bound, name, "") for bound in kinds]))


async def set_handler(call: ApiCall, handler: str, body: GivenHandlerLimits) -> ChangedSubject:
    """Limit the rate of a handler, over all hosts. Overrides the settings."""
    value = _rate(body.rate, body.burst)
    return _bounded(handler, await call.store.bound([LaneLimit(LaneBound.NAME, check_name(handler), value)]))


async def reset_handler(call: ApiCall, handler: str) -> ChangedSubject:
    """Remove the limit of a handler that operators have set; that of the settings applies again."""
    return _bounded(handler, await call.store.bound([LaneLimit(LaneBound.NAME, check_name(handler), "")]))


async def queue_length(call: ApiCall) -> QueueLength:
    """Show the number of waiting entries of each lane."""
    lanes = (await call.store.counts()).lanes
    return {"length": sum(lanes.values()), "lanes": lanes}


async def queue_count(call: ApiCall) -> TaskCounts:
    """Count tasks by state."""
    return task_counts(await call.store.counts())


async def queue_peek(call: ApiCall, query: PeekQuery) -> PeekedEntries:
    """Show the next entries without removing them."""
    lane = call.access.queue if query.lane is None else check_lane(query.lane)
    return {"entries": [decoded(entry) for entry in await call.store.peek_entries(lane, query.limit)]}


def _count(value: object) -> str:
    return NO_BOUND if value is None else str(value)


def _rate(text: object, burst: object) -> str:
    if text is None:
        return NO_BOUND
    try:
        return read_rate(text, None if burst is msgspec.UNSET else burst).stored
    except ValueError as error:
        raise InvalidTaskError(f"rate {shown(text)}: {error}") from None


def _bounded(subject: str, changed: int) -> ChangedSubject:
    return {"subject": subject, "answer": "bounded" if changed else "had these bounds already"}


LIMITS = {"running": 20, "per_key": None, "rate": "100/m"}
LANES = (
    ApiOperation("GET", "/lanes", list_lanes),
    ApiOperation("GET", "/lanes/{lane}", get_lane),
    ApiOperation("POST", "/lanes/{lane}/pause", pause_lane, "lanes/pause"),
    ApiOperation("POST", "/lanes/{lane}/resume", resume_lane, "lanes/resume"),
    ApiOperation("PUT", "/lanes/{lane}/limits", set_lane, "lanes/set", examples={"limits": LIMITS}),
    ApiOperation("DELETE", "/lanes/{lane}/limits", reset_lane, "lanes/reset"),
    ApiOperation("PUT", "/handlers/{handler}/limits", set_handler, "handlers/set", examples={"rate": {"rate": "5/s"}}),
    ApiOperation("DELETE", "/handlers/{handler}/limits", reset_handler, "handlers/reset"),
    ApiOperation("GET", "/queue/length", queue_length),
    ApiOperation("GET", "/queue/count", queue_count),
    ApiOperation("GET", "/queue/peek", queue_peek),
)
