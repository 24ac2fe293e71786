"""Turns an outcome into the words that a span shows."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.outcomes import (
    Asleep,
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
        case Asleep():
            return SpanResult("sleep")
        case HandlerStopped():
            return CANCELLED
        case Failed() | Rejected():
            word = "failed" if isinstance(outcome, Failed) else "rejected"
            return SpanResult(word, word)
        case UnreadableMessage():
            return SpanResult("unreadable", "unreadable")
        case Raised(failure):
            return SpanResult("raised", failure.type)
