"""Forks quarantine workers beside the pool while suspects wait. A quarantine worker runs only suspects, one at a time.

Quarantine workers do not belong to the pool: its target, its breaker, a reload and the start of the service ignore
them. If no quarantine worker can be forked, the suspects wait, and `held_back` says why.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.ipc.channel import SuspectsWaiting
from holdfastd.core import capacity, reload, scale
from holdfastd.core.commands import Command, MeasureHost
from holdfastd.core.parent_events import HostMeasured
from holdfastd.core.slots import QUARANTINE_SHARE, ROUND, SUSPECTS_FRESH, Child, ChildKind, Seat, Slot, Vacant
from holdfastd.core.view import Step, View, removed


def suspects_counted(view: View, message: SuspectsWaiting, now: float) -> View:
    """Record how many suspects may start, as the steward has counted them."""
    known = replace(view.quarantine, startable=message.startable, alone=message.alone, quiet=message.quiet)
    return replace(view, quarantine=replace(known, counted_at=now))


def task_started(view: View, child: Child, running: list[str]) -> View:
    """If a quarantine worker reports that a task has started, lower the number of waiting suspects by one. The
    steward's next count comes only later."""
    fresh = len(set(running).difference(child.running)) if child.slot.kind is ChildKind.QUARANTINE else 0
    left = max(0, view.quarantine.startable - fresh)
    known = replace(view.quarantine, startable=left, alone=min(left, view.quarantine.alone))
    return replace(view, quarantine=known) if fresh else view


def failed(view: View, slot: Slot, cause: str) -> View:
    """Record why a quarantine worker could not be forked or died early. `held_back` shows the reason."""
    if slot.kind is not ChildKind.QUARANTINE:
        return view
    return replace(view, quarantine=replace(view.quarantine, failed=cause))


def most(view: View) -> int:
    """The largest number of quarantine workers: a quarter of the pool's size, but at least one."""
    return max(1, view.target // QUARANTINE_SHARE)


def waiting(view: View, now: float) -> int:
    """The number of suspects that may start now; 0 if the steward has not reported for SUSPECTS_FRESH seconds."""
    return view.quarantine.startable if now - view.quarantine.counted_at <= SUSPECTS_FRESH else 0


def held_back(view: View, now: float) -> str:
    """The reason why no worker is forked for waiting suspects. Empty if no suspect waits, or if as many quarantine
    workers run as are allowed."""
    if not waiting(view, now):
        return ""
    if why := _obstacle(view):
        return why
    if _missing(view, now) > 0:
        return view.quarantine.no_room
    backs_off = any(isinstance(seat, Vacant) and seat.due > now for _, seat in _seats(view))
    return f"a quarantine worker could not start: {view.quarantine.failed}" if backs_off else ""


def candidates(view: View) -> list[tuple[float, Slot]]:
    """The slots for which a quarantine worker may be forked, each with the time from which on it may."""
    if _obstacle(view):
        return []
    return [(seat.due, slot) for slot, seat in _seats(view) if isinstance(seat, Vacant)]


def balance(view: View, now: float) -> Step:
    """Do one step for the quarantine workers. Retire workers above the limit, workers with old code, and workers to be
    recycled. Remove empty places (seats) that no suspect needs. Return a MeasureHost command if more places are
    needed."""
    if view.stopping is not None or not (view.quarantine.startable or _seats(view)):
        return view, ()
    view, retired = _retire(view, now)
    view = _close(view, now)
    if _missing(view, now) <= 0 or _obstacle(view) or _had_no_room(view, now):
        return view, retired
    return replace(view, quarantine=replace(view.quarantine, measured_at=now)), (*retired, MeasureHost())


def measured(view: View, event: HostMeasured, now: float) -> Step:
    """Add the places (seats) for quarantine workers that suspects need, as far as the host has room for more
    workers."""
    missing, living = _missing(view, now), sum(1 for _ in view.claiming())
    bound = capacity.tightest(event.host, living)
    fitting = missing if bound is None else min(missing, max(0, bound.workers - living))
    why = f"this host has no room for it: {bound.why}" if bound is not None and fitting < missing else ""
    view = replace(view, quarantine=replace(view.quarantine, no_room=why))
    return scale.opened(view, ChildKind.QUARANTINE, fitting, now), ()


def _obstacle(view: View) -> str:
    """The reason why no quarantine worker may be forked now, apart from the host's resources; empty if one may."""
    if view.stopping is not None:
        return "the supervisor is draining"
    if ChildKind.WORKER not in view.ready_kinds:
        return "no worker of the pool has been ready yet"
    if view.breaker.is_open:
        return f"workers are in a crash loop: {view.breaker.cause}"
    if view.reload is not None and not view.reload.proven:
        return "a reload has not shown yet that its code works"
    return f"this host is {view.quarantine.quiet}" if view.quarantine.quiet else ""


def _had_no_room(view: View, now: float) -> bool:
    """True if the host had no room within the last second. Then it is not measured again, because this is expensive."""
    return bool(view.quarantine.no_room) and now - view.quarantine.measured_at < ROUND


def _wanted(view: View, now: float) -> int:
    """The number of quarantine workers wanted: one for each suspect that runs or may start; suspects that must run
    alone need only one worker together. A worker that was told to leave counts until it is gone, so there are never
    more workers than `most`."""
    count = waiting(view, now)
    alone = min(view.quarantine.alone, count)
    busy = sum(isinstance(seat, Child) and bool(seat.running) for _, seat in _staying(view))
    going = len(_seats(view)) - len(_staying(view))
    return min(most(view) - going, max(busy + count - alone, min(alone, 1)))


def _missing(view: View, now: float) -> int:
    return _wanted(view, now) - len(_staying(view))


def _seats(view: View) -> list[tuple[Slot, Seat]]:
    return [(slot, seat) for slot, seat in view.seats.items() if slot.kind is ChildKind.QUARANTINE]


def _staying(view: View) -> list[tuple[Slot, Seat]]:
    return [(slot, seat) for slot, seat in _seats(view) if not isinstance(seat, Child) or seat.leaving is None]


def _retire(view: View, now: float) -> Step:
    """Retire workers of old code, workers to be recycled, and workers above the limit. All of them finish their task
    first; those above the limit must do so within the drain timeout."""
    commands: list[Command] = []
    if view.reload is None or view.reload.proven:
        for child in reload.outdated(view, ChildKind.QUARANTINE):
            view, sent = reload.retire(view, child, now)
            commands += sent
    surplus = sorted(_staying(view), key=scale.usefulness)[: max(0, len(_staying(view)) - most(view))]
    view, sent = scale.retire(view, surplus, now)
    return view, (*commands, *sent)


def _close(view: View, now: float) -> View:
    """Remove the empty places (seats) that are not needed. A living quarantine worker that gets no suspect ends by
    itself."""
    vacant = sorted((slot for slot, seat in _seats(view) if isinstance(seat, Vacant)), reverse=True)
    return removed(view, *vacant[: max(0, -_missing(view, now))])
