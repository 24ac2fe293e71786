"""Decides when a slot is filled again.

A slot is filled at once after a child that was useful. After early deaths (before ready, or within a second of it with
no task settled) the delay grows each time, so that a crash loop costs little; a fenced worker is replaced without
delay.
"""

from __future__ import annotations

from dataclasses import replace

from holdfastd.core.death import Cause, Reason
from holdfastd.core.slots import CLAIMING, Child, ChildKind, Record, Vacant

YOUNG = 1.0
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
SERVICE_DELAY = 5.0  # the longest delay for steward and store: all workers depend on them
JITTER = 0.25


def is_young(child: Child, cause: Cause, now: float) -> bool:
    """True if this death counts towards a crash loop."""
    if cause.reason in {Reason.FENCED, Reason.REQUESTED}:
        return False
    if child.slot.kind is ChildKind.QUARANTINE and child.running:
        return False  # its suspect has killed it, as was expected
    return child.ready_at is None or (child.settled == 0 and now - child.ready_at < YOUNG)


def delay(failures: int, jitter: float, longest: float = LONGEST_DELAY) -> float:
    """Seconds to wait after this many early deaths in a row (0: the first); `jitter` in -1..1."""
    base: float = min(longest, FIRST_DELAY * 2 ** min(failures, 16))
    return base * (1 + JITTER * jitter)


def vacated(child: Child, young: bool, jitter: float, now: float) -> Vacant:
    """The vacant seat after a child's death."""
    record = replace(child.record, restarts=child.record.restarts + 1)
    if not young:
        return Vacant(now, replace(record, failures=0))
    return Vacant(now + _young_delay(child, jitter), replace(record, failures=record.failures + 1))


def after_failed_fork(record: Record, jitter: float, now: float) -> Vacant:
    """The vacant seat after a fork that the kernel refused: this seat waits."""
    return Vacant(now + delay(record.failures, jitter), replace(record, failures=record.failures + 1))


def _young_delay(child: Child, jitter: float) -> float:
    if child.slot.kind in CLAIMING:
        return delay(child.record.failures, jitter)
    if child.record.failures == 0:
        return 0.0
    return delay(child.record.failures - 1, jitter, SERVICE_DELAY)
