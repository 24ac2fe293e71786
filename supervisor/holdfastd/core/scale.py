"""Keeps the number of workers at its target (one more during a replacement). A seat is the place for one worker. If
there are too many seats, they are removed in this order: empty seats, seats of workers that boot, of idle workers, of
busy workers. Busy workers finish their tasks first."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

from holdfastd.core import capacity, reload, stop_child
from holdfastd.core.capacity import BOUNDLESS, Host
from holdfastd.core.commands import Command, Log
from holdfastd.core.slots import GIVEN_UP, Child, ChildKind, Seat, Slot, Vacant, Why
from holdfastd.core.view import Step, View, removed, seated

LEAST = 1
MOST = 10_000


def refusal(view: View, workers: int, host: Host = BOUNDLESS) -> str:
    """The reason why the pool cannot have this number of workers now on this host; empty if it can."""
    if view.stopping is not None:
        return "the supervisor is draining"
    if not LEAST <= workers <= MOST:
        return f"workers is {workers}; it must be between {LEAST} and {MOST}"
    living = sum(1 for _ in view.living(ChildKind.WORKER))
    return capacity.refusal(host, living, workers) if workers > view.target else ""


def asked(view: View, workers: int, host: Host = BOUNDLESS) -> Step:
    """Change the target. If this is refused, only log why: the service drains, the number is out of range, or the host
    cannot hold so many workers."""
    if why_not := refusal(view, workers, host):
        return view, (Log("warning", "scaling refused", {"workers": workers, "reason": why_not}),)
    return replace(view, target=workers), (Log("info", "scaling", {"from": view.target, "to": workers}),)


def balance(view: View, now: float) -> Step:
    """Add places for workers (seats) if there are fewer than the target; remove some if there are more."""
    if view.stopping is not None:
        return view, ()
    staying = [(slot, seat) for slot, seat in view.workers() if not _is_leaving(seat)]
    successor = 1 if any(reload.outdated(view)) else 0
    surplus = len(staying) - view.target - successor
    if surplus > 0:
        return retire(view, sorted(staying, key=usefulness)[:surplus], now)
    return opened(view, ChildKind.WORKER, -surplus, now), ()


def _is_leaving(seat: Seat) -> bool:
    return isinstance(seat, Child) and seat.leaving is not None and seat.leaving.why in GIVEN_UP


def usefulness(entry: tuple[Slot, Seat]) -> tuple[int, int]:
    """Sort key: the place for a worker (seat) whose removal costs least comes first. The module's docstring has the
    order."""
    slot, seat = entry
    if not isinstance(seat, Child) or seat.leaving is not None:
        return 0, -slot.number
    if seat.ready_at is None:
        return 1, -slot.number
    return 2 + len(seat.running), -slot.number


def retire(view: View, surplus: list[tuple[Slot, Seat]], now: float) -> Step:
    """Remove these places for workers (seats). The workers in them finish their tasks within the drain timeout."""
    commands: list[Command] = []
    for slot, seat in surplus:
        if isinstance(seat, Vacant):
            view = removed(view, slot)
        elif isinstance(seat, Child) and seat.leaving is None:
            deadline = now + view.policy.drain_timeout
            child, sent = stop_child.ask_worker(seat, Why.SCALE, deadline - view.policy.cancel_grace, deadline)
            view = seated(view, slot, child)
            commands += sent
    return view, tuple(commands)


def opened(view: View, kind: ChildKind, missing: int, now: float) -> View:
    """Add `missing` places (seats) for children of this kind, with the lowest free numbers. Children may be forked for
    them at once."""
    if missing <= 0:
        return view
    free = (slot for number in count() if (slot := Slot(kind, number)) not in view.seats)
    return replace(view, seats={**view.seats, **{slot: Vacant(now) for slot in islice(free, missing)}})
