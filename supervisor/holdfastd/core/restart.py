"""Decides when a slot is filled again.

After the death of a child that was useful, its slot is filled at once. A death is early if the child was not ready yet,
or was ready for less than a second and had settled no task. With each early death the delay grows, so that a crash loop
costs little. A worker that ended because the store refused its commands (a fenced worker) is replaced without delay.
"""

from __future__ import annotations

from dataclasses import replace

from holdfastd.core.commands import Log
from holdfastd.core.death import Cause, Reason
from holdfastd.core.slots import CLAIMING, Child, ChildKind, Forking, Record, Slot, Vacant
from holdfastd.core.view import Breaker, Step, View

YOUNG = 1.0
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
SERVICE_DELAY = 5.0  # the longest delay in seconds for the steward and the store, on which all workers depend
JITTER = 0.25


def is_young(child: Child, cause: Cause, now: float) -> bool:
    """True if this death is early, so that it counts towards a crash loop."""
    if cause.reason in {Reason.FENCED, Reason.REQUESTED}:
        return False
    if child.slot.kind is ChildKind.QUARANTINE and child.running:
        return False  # its suspect has killed this quarantine worker, which was to be expected
    return child.ready_at is None or (child.settled == 0 and now - child.ready_at < YOUNG)


def delay(failures: int, jitter: float, longest: float = LONGEST_DELAY) -> float:
    """Seconds until the next fork. `failures`: early deaths in a row before this one; `jitter`: -1..1."""
    base: float = min(longest, FIRST_DELAY * 2 ** min(failures, 16))
    return base * (1 + JITTER * jitter)


def vacated(child: Child, young: bool, jitter: float, now: float) -> Vacant:
    """The state of a slot after the death of its child: empty, with the time from which on it is filled. `young`: the
    death was early."""
    record = replace(child.record, restarts=child.record.restarts + 1)
    if not young:
        return Vacant(now, replace(record, failures=0))
    return Vacant(now + _young_delay(child, jitter), replace(record, failures=record.failures + 1))


def after_failed_fork(record: Record, jitter: float, now: float) -> Vacant:
    """The state of a slot after a failed fork: empty, and filled after a delay."""
    return Vacant(now + delay(record.failures, jitter), replace(record, failures=record.failures + 1))


def _young_delay(child: Child, jitter: float) -> float:
    if child.slot.kind in CLAIMING:
        return delay(child.record.failures, jitter)
    if child.record.failures == 0:
        return 0.0
    return delay(child.record.failures - 1, jitter, SERVICE_DELAY)


# A circuit breaker for crash loops: if workers keep dying soon after their start, only one at a time is started.
#
# It opens after more than max(10, 3N) early deaths within a minute in a pool of N workers. While it is open, one worker
# at a time is started as a probe. A probe that has been ready for a minute closes the breaker.

WINDOW = 60.0
PROOF = 60.0
LEAST = 10


def young_death(view: View, child: Child, cause: str, jitter: float, now: float) -> Step:
    """Count an early death of a worker. After too many early deaths, open the breaker: then only one worker is started
    at a time."""
    breaker = view.breaker
    if breaker.is_open:
        return _probe_died(view, child, cause, jitter, now)
    deaths = (*(at for at in breaker.deaths if at > now - WINDOW), now)
    if len(deaths) <= max(LEAST, 3 * view.target):
        return replace(view, breaker=replace(breaker, deaths=deaths)), ()
    log = Log(
        "error", "crash loop: too many workers died soon after their start; one is started at a time", {"cause": cause}
    )
    return replace(view, breaker=Breaker(deaths, cause, due=now + delay(0, jitter), failures=1)), (log,)


def _probe_died(view: View, child: Child, cause: str, jitter: float, now: float) -> Step:
    if view.breaker.probe != child.slot:
        return view, ()
    failures = view.breaker.failures
    due = now + delay(failures, jitter)
    breaker = replace(view.breaker, cause=cause, probe=None, failures=failures + 1, due=due)
    return replace(view, breaker=breaker), ()


def candidates(view: View) -> list[tuple[float, Slot]]:
    """The empty slots for which a worker may be forked, each with the time from which on it may. While the breaker is
    open, there is at most one such slot."""
    vacant = [(seat.due, slot) for slot, seat in view.workers() if isinstance(seat, Vacant)]
    if not view.breaker.is_open:
        return vacant
    if not vacant or _probing(view):
        return []
    return [(view.breaker.due, min(vacant)[1])]


def _probing(view: View) -> bool:
    probe = view.breaker.probe
    return probe is not None and isinstance(view.seats.get(probe), Child | Forking)


def mark_probe(view: View, slot: Slot) -> View:
    """Record that a worker is forked for this slot. If the breaker is open, this worker is the probe: it shows whether
    workers stay alive again."""
    if slot.kind is not ChildKind.WORKER or not view.breaker.is_open:
        return view
    return replace(view, breaker=replace(view.breaker, probe=slot))


def close_if_recovered(view: View, now: float) -> Step:
    """Close the breaker if the probe (the worker started while it was open) has been ready for a minute, or if no slot
    is empty any more."""
    if not view.breaker.is_open or not _has_recovered(view, now):
        return view, ()
    seats = {
        slot: Vacant(now, Record(0, seat.record.restarts)) for slot, seat in view.workers() if isinstance(seat, Vacant)
    }
    return replace(view, breaker=Breaker(), seats={**view.seats, **seats}), (
        Log("info", "the crash loop has ended: all workers are started again"),
    )


def _has_recovered(view: View, now: float) -> bool:
    probe = view.child(view.breaker.probe) if view.breaker.probe is not None else None
    if probe is not None:
        return probe.ready_at is not None and now - probe.ready_at >= PROOF
    return not any(isinstance(seat, Vacant | Forking) for _, seat in view.workers())
