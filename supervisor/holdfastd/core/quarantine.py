"""Forks quarantine workers beside the pool while suspects wait: each runs suspects only, one at a time.

They do not belong to the pool: its target, its breaker, a reload and the start of the service ignore them. While
something prevents them suspects wait, and `held_back` says why.
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
    """The steward has counted the suspects that may start."""
    known = replace(view.quarantine, startable=message.startable, alone=message.alone, quiet=message.quiet)
    return replace(view, quarantine=replace(known, counted_at=now))


def task_started(view: View, child: Child, running: list[str]) -> View:
    """A quarantine worker has reported a new task: one suspect fewer waits, though the steward has not counted again
    yet."""
    fresh = len(set(running).difference(child.running)) if child.slot.kind is ChildKind.QUARANTINE else 0
    left = max(0, view.quarantine.startable - fresh)
    known = replace(view.quarantine, startable=left, alone=min(left, view.quarantine.alone))
    return replace(view, quarantine=known) if fresh else view


def failed(view: View, slot: Slot, cause: str) -> View:
    """Note why a fork was refused or a quarantine worker died early; `held_back` shows it."""
    if slot.kind is not ChildKind.QUARANTINE:
        return view
    return replace(view, quarantine=replace(view.quarantine, failed=cause))


def most(view: View) -> int:
    """The most quarantine workers there may be: a quarter of the pool, at least one."""
    return max(1, view.target // QUARANTINE_SHARE)


def waiting(view: View, now: float) -> int:
    """Suspects that may start now; 0 if the steward has not reported lately."""
    return view.quarantine.startable if now - view.quarantine.counted_at <= SUSPECTS_FRESH else 0


def held_back(view: View, now: float) -> str:
    """The reason why no worker is forked for waiting suspects; empty if none waits or all allowed workers are busy."""
    if not waiting(view, now):
        return ""
    if why := _obstacle(view):
        return why
    if _missing(view, now) > 0:
        return view.quarantine.no_room
    backs_off = any(isinstance(seat, Vacant) and seat.due > now for _, seat in _seats(view))
    return f"a quarantine worker could not start: {view.quarantine.failed}" if backs_off else ""


def candidates(view: View) -> list[tuple[float, Slot]]:
    """The vacant seats that may be filled, and when."""
    if _obstacle(view):
        return []
    return [(seat.due, slot) for slot, seat in _seats(view) if isinstance(seat, Vacant)]


def balance(view: View, now: float) -> Step:
    """Do one step: retire surplus and outdated workers, close seats that are not needed, measure the host if seats are
    missing."""
    if view.stopping is not None or not (view.quarantine.startable or _seats(view)):
        return view, ()
    view, retired = _retire(view, now)
    view = _close(view, now)
    if _missing(view, now) <= 0 or _obstacle(view) or _had_no_room(view, now):
        return view, retired
    return replace(view, quarantine=replace(view.quarantine, measured_at=now)), (*retired, MeasureHost())


def measured(view: View, event: HostMeasured, now: float) -> Step:
    """Open the missing seats, as far as the host has room for them."""
    missing, living = _missing(view, now), sum(1 for _ in view.claiming())
    bound = capacity.tightest(event.host, living)
    fitting = missing if bound is None else min(missing, max(0, bound.workers - living))
    why = f"this host has no room for it: {bound.why}" if bound is not None and fitting < missing else ""
    view = replace(view, quarantine=replace(view.quarantine, no_room=why))
    return scale.opened(view, ChildKind.QUARANTINE, fitting, now), ()


def _obstacle(view: View) -> str:
    """The reason why none may be forked now, whatever resources the host has, or empty."""
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
    """True if the host was full within the last second: measuring is expensive, so it is done once a second at most."""
    return bool(view.quarantine.no_room) and now - view.quarantine.measured_at < ROUND


def _wanted(view: View, now: float) -> int:
    """Workers wanted: one for each suspect that runs or may start, one for all that must run alone. Leaving workers
    count until they are gone, so the limit always holds."""
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
    """Workers of old code and workers that ask to be recycled finish their task first; so do those above the limit,
    within the drain timeout."""
    commands: list[Command] = []
    if view.reload is None or view.reload.proven:
        for child in reload.outdated(view, ChildKind.QUARANTINE):
            view, sent = reload.retire(view, child, now)
            commands += sent
    surplus = sorted(_staying(view), key=scale.usefulness)[: max(0, len(_staying(view)) - most(view))]
    view, sent = scale.retire(view, surplus, now)
    return view, (*commands, *sent)


def _close(view: View, now: float) -> View:
    """Close surplus vacant seats. A living worker that gets no suspect ends by itself."""
    vacant = sorted((slot for slot, seat in _seats(view) if isinstance(seat, Vacant)), reverse=True)
    return removed(view, *vacant[: max(0, -_missing(view, now))])
