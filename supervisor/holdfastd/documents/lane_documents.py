"""Lanes as documents, with their limits."""

from __future__ import annotations

from typing import TypedDict

from holdfast.core.lanes import Lanes, LaneState, LimitOrder
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
