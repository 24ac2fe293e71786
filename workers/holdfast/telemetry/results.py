"""How an outcome is told of in a span."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.outcomes import Asked, Completed, Failed, Outcome, Raised, Rejected, Stopped, Unreadable


class Result(NamedTuple):
    """`outcome` is one word; `error` is what kind of error it was, empty for none. Messages of errors are not told:
    they may hold anything, and `supervisor tasks show` has them."""

    outcome: str
    error: str = ""


CANCELLED = Result("stopped")


def result(outcome: Outcome) -> Result:
    match outcome:
        case Completed():
            return Result("completed")
        case Asked(state):
            return Result(state)
        case Stopped():
            return CANCELLED
        case Failed():
            return Result("failed", "failed")
        case Rejected():
            return Result("rejected", "rejected")
        case Unreadable():
            return Result("unreadable", "unreadable")
        case Raised(failure):
            return Result("raised", failure.type)
