"""Quarantine workers: forked beside the pool while suspects wait. They claim nothing else, one at a time.

They are no part of the pool: its target, its breaker, a reload and the start of the service count none of them. While
something holds them back suspects wait, and `held_back` says why.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.ipc.channel import SuspectsWaiting
from holdfastd.core import capacity, replacement, scale
from holdfastd.core.commands import Command, MeasureHost
from holdfastd.core.events import HostMeasured
from holdfastd.core.policy import QUARANTINE_SHARE, ROUND, SUSPECTS_FRESH
from holdfastd.core.slots import Child, ChildKind, Seat, Slot, Vacant
from holdfastd.core.view import Step, View, removed


def told(view: View, message: SuspectsWaiting, now: float) -> View:
    """The steward has looked for suspects that may start."""
    known = replace(view.quarantine, startable=message.startable, alone=message.alone, quiet=message.quiet)
    return replace(view, quarantine=replace(known, told_at=now))


def began(view: View, child: Child, running: list[str]) -> View:
    """A quarantine worker says what it runs: that waits no more, though the steward has not told so yet."""
    fresh = len(set(running).difference(child.running)) if child.slot.kind is ChildKind.QUARANTINE else 0
    left = max(0, view.quarantine.startable - fresh)
    known = replace(view.quarantine, startable=left, alone=min(left, view.quarantine.alone))
    return replace(view, quarantine=known) if fresh else view


def failed(view: View, slot: Slot, cause: str) -> View:
    """A fork was refused, or a child died before it was of use; the words are for `held_back`."""
    if slot.kind is not ChildKind.QUARANTINE:
        return view
    return replace(view, quarantine=replace(view.quarantine, failed=cause))


def most(view: View) -> int:
    """How many there may be: a quarter of the pool, at least one."""
    return max(1, view.target // QUARANTINE_SHARE)


def waiting(view: View, now: float) -> int:
    """Suspects that may start now; none where no steward has spoken of them lately."""
    return view.quarantine.startable if now - view.quarantine.told_at <= SUSPECTS_FRESH else 0


def held_back(view: View, now: float) -> str:
    """Why suspects that may start are given no worker, or empty. All workers that there may be are busy: empty."""
    if not waiting(view, now):
        return ""
    if why := _barred(view):
        return why
    if _missing(view, now) > 0:
        return view.quarantine.no_room
    backs_off = any(isinstance(seat, Vacant) and seat.due > now for _, seat in _seats(view))
    return f"a quarantine worker could not start: {view.quarantine.failed}" if backs_off else ""


def candidates(view: View) -> list[tuple[float, Slot]]:
    """Vacant seats that may be filled, and when."""
    if _barred(view):
        return []
    return [(seat.due, slot) for slot, seat in _seats(view) if isinstance(seat, Vacant)]


def balance(view: View, now: float) -> Step:
    """One step: have those go that should, close seats that nobody needs, ask for room where some are missing."""
    if view.stopping is not None:
        return view, ()
    view, retired = _retire(view, now)
    view = _close(view, now)
    if _missing(view, now) <= 0 or _barred(view) or _had_no_room(view, now):
        return view, retired
    return replace(view, quarantine=replace(view.quarantine, measured_at=now)), (*retired, MeasureHost())


def measured(view: View, event: HostMeasured, now: float) -> Step:
    """Open the missing seats, as far as the host has room for them."""
    missing, living = _missing(view, now), sum(1 for _ in view.claiming())
    bound = capacity.tightest(event.host, living)
    opened = missing if bound is None else min(missing, max(0, bound.workers - living))
    why = f"this host has no room for it: {bound.why}" if bound is not None and opened < missing else ""
    return _open(replace(view, quarantine=replace(view.quarantine, no_room=why)), opened, now), ()


def _barred(view: View) -> str:
    """Why none is forked now, whatever the host has room for, or empty."""
    if view.stopping is not None:
        return "the supervisor is draining"
    if ChildKind.WORKER not in view.reached:
        return "no worker of the pool has been ready yet"
    if view.breaker.is_open:
        return f"too many workers die young: {view.breaker.cause}"
    if view.reload is not None and not view.reload.proven:
        return "a reload has not proved its code yet"
    return f"this host is {view.quarantine.quiet}" if view.quarantine.quiet else ""


def _had_no_room(view: View, now: float) -> bool:
    """Just now: measuring costs some, so a full host is measured each second at most."""
    return bool(view.quarantine.no_room) and now - view.quarantine.measured_at < ROUND


def _wanted(view: View, now: float) -> int:
    """One for each suspect that runs or may start; one for all that run alone. Those that leave count until they have
    gone: what runs suspects is never more than the bound."""
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
    """Those of old code and the worn finish their task; so do those beyond the bound, within the drain timeout."""
    commands: list[Command] = []
    if view.reload is None or view.reload.proven:
        for child in replacement.outdated(view, ChildKind.QUARANTINE):
            view, sent = replacement.retire(view, child, now)
            commands += sent
    surplus = sorted(_staying(view), key=scale.usefulness)[: max(0, len(_staying(view)) - most(view))]
    view, sent = scale.retire(view, surplus, now)
    return view, (*commands, *sent)


def _close(view: View, now: float) -> View:
    """A living one that gets no suspect ends by itself."""
    vacant = sorted(slot for slot, seat in _seats(view) if isinstance(seat, Vacant))
    surplus = max(0, -_missing(view, now))
    return removed(view, *vacant[len(vacant) - min(surplus, len(vacant)) :])


def _open(view: View, missing: int, now: float) -> View:
    taken = {slot.number for slot, _ in _seats(view)}
    free = [number for number in range(len(taken) + max(0, missing)) if number not in taken][: max(0, missing)]
    return replace(view, seats={**view.seats, **{Slot(ChildKind.QUARANTINE, number): Vacant(now) for number in free}})
