"""Lanes in words: their state, and the settings with which workers serve them."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.duration_words import duration
from holdfast.core.lanes import LaneState
from holdfast.core.served import ServedLane
from holdfast_config.lanes import Rate


def state(lane: LaneState) -> str:
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


def weights(lane: LaneState) -> str:
    """The weights that its workers registered, nearly always one; empty without workers."""
    return _all(lane, lambda served: "in order" if served.weight is None else str(served.weight))


def timeouts(lane: LaneState) -> str:
    """The times that one run may take; empty without workers or without a limit."""
    return _all(lane, lambda served: duration(served.timeout) if served.timeout else "")


def _all(lane: LaneState, text: Callable[[ServedLane], str]) -> str:
    return " or ".join(dict.fromkeys(words for served in lane.served if (words := text(served))))
