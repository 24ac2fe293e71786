"""Lanes as documents, with their limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from holdfast.core.lanes import Lanes, LaneState, LimitOrder
from holdfast.core.words import duration
from holdfast.core.worker_records import ServedLane
from holdfast_config.lanes import Rate, rate


class LimitDocument(TypedDict):
    """`value`: in force, empty for none; `asked` by an operator; `told` by the settings of a `host`."""

    asked: str
    told: str
    host: str
    value: str


class ServedDocument(TypedDict):
    """Settings that workers registered for a lane. `timeout` in seconds."""

    weight: int | None
    timeout: float | None


class LaneDocument(TypedDict):
    """A lane. `waiting`: tasks, of which `held` at its gates; `missing`: handlers that no worker has, with the number
    of tasks that wait for them; `closed`: the reason why none may start now."""

    lane: str
    waiting: int
    held: int
    running: int
    oldest_seconds: float | None
    workers: int
    weight: int | None
    timeout: float | None
    served: list[ServedDocument]
    missing: dict[str, int]
    paused: bool
    reason: str
    closed: str
    limit: LimitDocument
    per_key: LimitDocument
    rate: LimitDocument
    end: LimitDocument


def lane_document(lane: LaneState, snapshot: Lanes) -> LaneDocument:
    first = lane.served[0] if lane.served else None
    return {
        "lane": lane.name,
        "waiting": lane.waiting,
        "held": lane.held,
        "running": lane.running,
        "oldest_seconds": None if lane.oldest_ms is None else max(0, snapshot.now_ms - lane.oldest_ms) / 1000,
        "workers": lane.workers,
        "weight": first.weight if first else None,
        "timeout": first.timeout if first else None,
        "served": [{"weight": each.weight, "timeout": each.timeout} for each in lane.served],
        "missing": lane.missing,
        "paused": lane.is_paused,
        "reason": lane.paused_because,
        "closed": lane.closed,
        "limit": _limit(lane.limit),
        "per_key": _limit(lane.keys),
        "rate": _limit(lane.rate),
        "end": _limit(lane.end),
    }


def rate_words(order: LimitOrder) -> str:
    """The rate in force as it is given, such as 100/m; empty for none."""
    if not order.value:
        return ""
    count, period, burst = map(int, order.value.split("/"))
    usual = rate(str(Rate(count, period, 1))).burst
    return str(Rate(count, period, burst)) + ("" if burst == usual else f" burst {burst}")


def _limit(order: LimitOrder) -> LimitDocument:
    return {"asked": order.asked, "told": order.told, "host": order.host, "value": order.value}


# Lanes in words: their state, and the settings with which workers serve them.


def state_words(lane: LaneState) -> str:
    """Open, or the reason why none of its tasks starts."""
    if lane.is_paused:
        return f"paused: {lane.paused_because}"
    if not lane.workers:
        return "no worker serves it"
    if lane.missing:
        return f"no worker has handler {', '.join(name or '(default)' for name in lane.missing)}"
    return {"limit": "at its limit", "rate": "at its rate"}.get(lane.closed, "open") if lane.waiting else "open"


def read_rate(stored: str) -> Rate:
    """The rate of a text of the store: count/period in ms/burst."""
    count, period, burst = map(int, stored.split("/"))
    return Rate(count, period, burst)


def weight_words(lane: LaneState) -> str:
    """The weights that its workers registered, nearly always one; empty without workers."""
    return _all(lane, lambda served: "in order" if served.weight is None else str(served.weight))


def timeout_words(lane: LaneState) -> str:
    """The times that one run may take; empty without workers or without a limit."""
    return _all(lane, lambda served: duration(served.timeout) if served.timeout else "")


def _all(lane: LaneState, text: Callable[[ServedLane], str]) -> str:
    return " or ".join(dict.fromkeys(words for served in lane.served if (words := text(served))))
