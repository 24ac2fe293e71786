"""Turns an outcome into the words that a span shows."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.outcomes import (
    Completed,
    Failed,
    HandlerStopped,
    InputAsked,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
)


class SpanResult(NamedTuple):
    """`outcome` is one word; `error` is what kind of error it was, empty for none. Messages of errors are left out:
    they may hold anything, and `supervisor tasks show` has them."""

    outcome: str
    error: str = ""


CANCELLED = SpanResult("stopped")


def result(outcome: Outcome) -> SpanResult:
    match outcome:
        case Completed():
            return SpanResult("completed")
        case InputAsked(state):
            return SpanResult(state)
        case HandlerStopped():
            return CANCELLED
        case Failed():
            return SpanResult("failed", "failed")
        case Rejected():
            return SpanResult("rejected", "rejected")
        case UnreadableMessage():
            return SpanResult("unreadable", "unreadable")
        case Raised(failure):
            return SpanResult("raised", failure.type)
