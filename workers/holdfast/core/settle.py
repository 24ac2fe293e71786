"""Makes the settlement that a worker reports from the outcome of a delivery.

Rule 1. A delivery has one settlement, or none. A worker reports nothing of a task that was canceled, or that another
worker owns by now.

Rule 2. A settlement names the claim of its delivery. The store accepts it for that claim alone.

Rule 3. Only a run that raised is charged as an attempt. A task that sleeps, or that a worker gives back, is not.

Rule 4. A task that raised runs again while it has attempts left. The task's own `max_attempts` counts before the
policy's. After a failure that is `final`, the task does not run again.

Theory of operation. The handler yields an Outcome, which knows nothing of retries. `settlement` adds the policy, and
answers with a word (Settle) and its details. The store (`settlement.lua`) decides what becomes of the task: other
messages may wait for it, or a pause.

Warning. `settlement` is called for every task. Its first lines handle a handler that has simply returned; put additions
behind these lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.error_kinds import kind_text
from holdfast.core.outcomes import (
    REVOKED,
    Asleep,
    Completed,
    Deferred,
    Failed,
    Failure,
    HandlerStopped,
    InputAsked,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
    failure_document,
    failure_in,
)

# Decides when a task that failed is tried again.

LONGEST = 366 * 86400.0  # seconds: what a handler may ask for at most


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The policy for retries. `base` and `cap`: the shortest and the longest pause before a retry, in seconds.
    `max_attempts` includes the first attempt."""

    max_attempts: int = 3
    base: float = 1.0
    cap: float = 300.0


def back_off(policy: RetryPolicy, attempts: int, jitter: float) -> float:
    """Seconds to wait after the failed attempt number `attempts` (from 1): doubled each time, up to the cap. `jitter`
    (0 to 1) shortens the wait by up to a half, so that tasks that failed together are not retried at the same
    moment."""
    doublings = min(max(attempts - 1, 0), 64)
    return float(min(policy.cap, policy.base * 2.0**doublings)) * (1 - jitter / 2)


def asked_wait(seconds: float) -> float:
    """The wait, in seconds, that a handler asked for: never negative, and never longer than a year."""
    return min(seconds, LONGEST) if seconds > 0 else 0.0


REASON_LENGTH = 200

# Of a task that was canceled, or that another process owns by now, nothing is reported.
_STOPPED = {"drain": Settle.RELEASE, "pause": Settle.SUSPENDED, REVOKED.why: Settle.RETURNED}
_COMPLETED = Settle.COMPLETED  # looked up once, because a lookup takes as long as the rest of a usual settlement


class _Report(NamedTuple):
    """The part of a settlement that follows from the outcome. `delay` is in seconds. `failure`: the error of a run that
    failed."""

    kind: Settle
    result: bytes = b""
    reason: str = ""
    delay: float = 0.0
    failure: Failure | None = None


def settlement(
    outcome: Outcome | Deferred, delivery: Delivery, policy: RetryPolicy, jitter: float, checkpoint: bytes | None = None
) -> Settlement | None:
    """The settlement of `delivery`, or None if there is nothing to report. `jitter` is from 0 to 1; `checkpoint` is the
    last one that the handler made."""
    if type(outcome) is Completed and not outcome.schedule and outcome.backoff is None:  # nearly all of them
        return Settlement(delivery.task_id, delivery.claim, _COMPLETED, outcome.result, 0, "", checkpoint)
    match outcome:
        case Raised():
            report = _after_raising(outcome, delivery, policy, jitter)
        case HandlerStopped(why, has_begun):
            if why not in _STOPPED:
                return None
            kind = _STOPPED[why] if has_begun else Settle.RETURNED  # if the task was to pause, the store does it
            report = _Report(kind, reason=why)
        case Asleep(due_ms):
            return Settlement(delivery.task_id, delivery.claim, Settle.SLEEP, b"", due_ms, "", checkpoint)
        case Deferred(delay):
            report = _Report(Settle.DEFER, delay=delay)
        case _:
            report = _reported(outcome)
    kind, result, reason, delay, failure = report
    error, delay_ms = kind_text(failure) if failure else "", round(delay * 1000)
    return Settlement(delivery.task_id, delivery.claim, kind, result, delay_ms, one_line(reason), checkpoint, error)


def _reported(outcome: Completed | InputAsked | Failed | Rejected | UnreadableMessage) -> _Report:
    match outcome:
        case Completed(result, schedule, backoff):
            return _Report(Settle.COMPLETED, result, schedule, asked_wait(backoff or 0.0))
        case InputAsked(state, result):
            return _Report(Settle(state), result)
        case Failed(result, reason):
            return _Report(Settle.FAILED, result, reason, failure=failure_in(result))
        case Rejected(result, reason):
            return _Report(Settle.REJECTED, result, reason, failure=failure_in(result))
        case UnreadableMessage(reason):
            failure = Failure("Unreadable", reason)
            return _Report(Settle.UNREADABLE, failure_document("rejected", failure), reason, failure=failure)


def _after_raising(raised: Raised, delivery: Delivery, policy: RetryPolicy, jitter: float) -> _Report:
    summary = f"{raised.failure.type}: {raised.failure.message}"
    allowed = policy.max_attempts if delivery.max_attempts is None else delivery.max_attempts
    attempts, asked = delivery.attempts + 1, raised.retry_after
    if raised.final or attempts >= allowed:
        return _Report(Settle.EXHAUSTED, failure_document("failed", raised.failure), summary, failure=raised.failure)
    delay = back_off(policy, attempts, jitter) if asked is None else asked_wait(asked)
    return _Report(Settle.RETRY, reason=summary, delay=delay, failure=raised.failure)


def one_line(text: str) -> str:
    """`text` on one line, at most REASON_LENGTH characters."""
    line = " ".join(text.split())
    return line if len(line) <= REASON_LENGTH else line[: REASON_LENGTH - 1] + "…"
