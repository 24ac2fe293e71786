"""Acts on lanes and on the limits of handlers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast.client.arguments import check_lane, check_name
from holdfast.core.lanes import NO_BOUND, LaneBound, LaneLimit, Lanes, LimitOrder
from holdfast.store import Store
from holdfast_config import Settings
from holdfast_config.lanes import MOST
from holdfast_config.lanes import rate as read_rate
from holdfastd.documents.queue_documents import rate_words
from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.error_statuses import NotFoundError
from holdfastd.operations.known import Create, known_handlers, known_lanes, meant
from holdfastd.operations.reading import InvalidArgumentError

BOUNDS = {"running": LaneBound.LIMIT, "per_key": LaneBound.KEYS, "rate": LaneBound.RATE}

Lane = Annotated[str, Meta(description="Name of the lane.")]
Handler = Annotated[str, Meta(description="Name of the handler.")]
Running = Annotated[int, Meta(ge=1, le=MOST, description="Maximum number of tasks of the lane that run at once.")]
PerKey = Annotated[
    int, Meta(ge=1, le=MOST, description="Maximum number of running tasks with the same concurrency key.")
]
Rate = Annotated[
    str,
    Meta(
        max_length=50,
        description="Maximum number of tasks that start in a time: 10/s, 100/m, 20/10s.",
        examples=["100/m"],
    ),
]
Burst = Annotated[
    int, Meta(ge=1, le=MOST, description="With a rate: maximum number of tasks that start at once after an idle time.")
]


Resets = Annotated[
    list[Literal["running", "per_key", "rate"]],
    Meta(description="Limits to remove that operators have set; those of the settings apply again."),
]


class ChangedSubject(TypedDict):
    """The answer to a change."""

    subject: str
    answer: str


class PauseLane(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The lane to pause, and the reason."""

    lane: Lane
    reason: Reason = ""
    create: Create = False


class ChosenLane(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The lane to which the act applies."""

    lane: Lane


class LimitLane(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Limits of a lane over all hosts; null: no limit. A limit that is not given stays unchanged.

    `running`: maximum of running tasks; `per_key`: maximum of running tasks with the same concurrency key; `rate`:
    maximum of task starts in a time; `burst`: maximum of task starts at once after an idle time. `reset`: limits to
    remove that operators have set; those of the settings apply again.
    """

    lane: Lane
    running: Running | UnsetType | None = UNSET
    per_key: PerKey | UnsetType | None = UNSET
    rate: Rate | UnsetType | None = UNSET
    burst: Burst | UnsetType = UNSET
    reset: Resets = []
    create: Create = False


class LimitHandler(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The rate of a handler over all hosts; null: no limit. `reset`: remove the limit that operators have set; that of
    the settings applies again."""

    handler: Handler
    rate: Rate | UnsetType | None = UNSET
    burst: Burst | UnsetType = UNSET
    reset: Annotated[
        list[Literal["rate"]],
        Meta(description="Limits to remove that operators have set; those of the settings apply again."),
    ] = []
    create: Create = False


class ResetHandler(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The handler whose limit is removed."""

    handler: Handler


async def pause_lane(doing: Doing, given: PauseLane) -> ChangedSubject:
    """Start no more tasks of a lane on any host. Running tasks finish, and new tasks are accepted and wait."""
    lane = await known_lane(doing, given.lane, given)
    is_new = await doing.manager.pause_queue(lane, doing.reason("paused", given.reason))
    return {"subject": lane, "answer": "paused" if is_new else "was paused already"}


async def resume_lane(doing: Doing, given: ChosenLane) -> ChangedSubject:
    """Start tasks of a paused lane again."""
    lane = await known_lane(doing, given.lane, given)
    was_paused = await doing.manager.resume_queue(lane)
    return {"subject": lane, "answer": "resumed" if was_paused else "was not paused"}


async def limit_lane(doing: Doing, given: LimitLane) -> ChangedSubject:
    """Limit the running tasks of a lane, over all hosts. Overrides the settings."""
    values = {
        "running": _count(given.running),
        "per_key": _count(given.per_key),
        "rate": _rate(given.rate, given.burst),
    }
    values |= dict.fromkeys(given.reset, "")
    rules = {name: value for name, value in values.items() if value is not None}
    if not rules:
        raise InvalidArgumentError("running: no limit is given; give running, per_key or rate", "running")
    lane = await known_lane(doing, given.lane, given)
    return await _bound(doing, lane, [LaneLimit(BOUNDS[name], lane, value) for name, value in rules.items()])


async def reset_lane(doing: Doing, given: ChosenLane) -> ChangedSubject:
    """Remove the limits of a lane that operators have set; those of the settings apply again."""
    lane = await known_lane(doing, given.lane, given)
    return await _bound(doing, lane, [LaneLimit(bound, lane, "") for bound in BOUNDS.values()])


async def limit_handler(doing: Doing, given: LimitHandler) -> ChangedSubject:
    """Limit the rate of a handler, over all hosts. Overrides the settings."""
    value = "" if given.reset else _rate(given.rate, given.burst)
    if value is None:
        raise InvalidArgumentError("rate: no limit is given", "rate")
    handler = await _known_handler(doing, given)
    return await _bound(doing, handler, [LaneLimit(LaneBound.NAME, handler, value)])


async def reset_handler(doing: Doing, given: ResetHandler) -> ChangedSubject:
    """Remove the limit of a handler that operators have set; that of the settings applies again."""
    handler = await _known_handler(doing, given)
    return await _bound(doing, handler, [LaneLimit(LaneBound.NAME, handler, "")])


async def shown_lane(store: Store, settings: Settings, name: str) -> str:
    """The name of a lane that a command only shows. Raises NotFoundError, which suggests similar names."""
    lane = check_lane(name)
    known = await known_lanes(store, settings, lane)
    if lane not in known:
        raise NotFoundError(f"no lane {lane}; {meant(lane, known)}")
    return lane


async def check_handler_exists(store: Store, name: str) -> None:
    """Check that a handler is known. Raises NotFoundError, which suggests similar names."""
    known = await known_handlers(store)
    if name not in known:
        raise NotFoundError(f"no handler {name}; {meant(name, known)}")


async def known_lane(doing: Doing, name: str, given: msgspec.Struct) -> str:
    """The name of a lane that is changed. Unless `create` is set in the arguments, raises UnknownNameError for an
    unknown lane; the error suggests similar names."""
    lane = check_lane(name)
    await doing.check_known("lane", lane, given, known_lanes, doing.store, doing.settings, lane)
    return lane


async def _known_handler(doing: Doing, given: LimitHandler | ResetHandler) -> str:
    handler = check_name(given.handler)
    await doing.check_known("handler", handler, given, known_handlers, doing.store)
    return handler


async def _bound(doing: Doing, subject: str, rules: Sequence[LaneLimit]) -> ChangedSubject:
    known = await doing.manager.lanes(*() if rules[0].bound is LaneBound.NAME else (subject,))
    before = {rule.bound: _order(known, rule) for rule in rules}
    changed = await doing.call(doing.store.bound, rules)
    told = ((each, before[each.bound], replace(before[each.bound], asked=each.value)) for each in rules)
    doing.asked.outcome = ", ".join(
        f"{_SHOWN[rule.bound]}{_words(then)} → {_words(now)}" for rule, then, now in told if then != now
    )
    return {"subject": subject, "answer": "bounded" if changed else "had these bounds already"}


_SHOWN = {
    LaneBound.LIMIT: "running tasks ",
    LaneBound.KEYS: "per key ",
    LaneBound.RATE: "rate ",
    LaneBound.NAME: "rate ",
}


def _order(known: Lanes, rule: LaneLimit) -> LimitOrder:
    """The limit that a rule changes, as it was before."""
    if rule.bound is LaneBound.NAME:
        return known.handlers.get(rule.subject, LimitOrder())
    (lane,) = (each for each in known.lanes if each.name == rule.subject)
    return {LaneBound.LIMIT: lane.limit, LaneBound.KEYS: lane.keys}.get(rule.bound, lane.rate)


def _words(order: LimitOrder) -> str:
    return (rate_words(order) if "/" in order.value else order.value) or NO_BOUND


def _count(value: int | UnsetType | None) -> str | None:
    """A limit as the store writes it; None if no limit is given."""
    return None if value is UNSET else NO_BOUND if value is None else str(value)


def _rate(text: str | UnsetType | None, burst: int | UnsetType) -> str | None:
    if not isinstance(text, str):
        if burst is not UNSET:
            raise InvalidArgumentError(f"burst: {burst} needs a rate", "burst")
        return None if text is UNSET else NO_BOUND
    try:
        return read_rate(text, None if burst is UNSET else str(burst)).stored
    except ValueError as error:
        raise InvalidArgumentError(f"rate: {error}, or none", "rate") from None


PAUSE_LANE = Act("lanes/pause", PauseLane, pause_lane, "lane")
RESUME_LANE = Act("lanes/resume", ChosenLane, resume_lane, "lane")
LIMIT_LANE = Act("lanes/limit", LimitLane, limit_lane, "lane")
RESET_LANE = Act("lanes/reset", ChosenLane, reset_lane, "lane")
LIMIT_HANDLER = Act("handlers/limit", LimitHandler, limit_handler, "handler")
RESET_HANDLER = Act("handlers/reset", ResetHandler, reset_handler, "handler")
