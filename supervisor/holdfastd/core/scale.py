"""How many workers there should be (one more while somebody is to be replaced), and which go first when there are too
many: seats nobody lives in, those that boot, then the idle, then the busy, which finish what they run."""

from __future__ import annotations

from dataclasses import replace

from holdfastd.core import capacity, replacement, stop_child
from holdfastd.core.capacity import BOUNDLESS, Host
from holdfastd.core.commands import Command, Say
from holdfastd.core.slots import GIVEN_UP, Child, ChildKind, Seat, Slot, Vacant, Why
from holdfastd.core.view import Step, View, removed, seated

LEAST = 1
MOST = 10_000


def refusal(view: View, workers: int, host: Host = BOUNDLESS) -> str:
    """Why the pool cannot be set to this size now, on this host, or empty."""
    if view.stopping is not None:
        return "the supervisor is draining"
    if not LEAST <= workers <= MOST:
        return f"workers is {workers}; it must be between {LEAST} and {MOST}"
    living = sum(1 for _ in view.living(ChildKind.WORKER))
    return capacity.refusal(host, living, workers) if workers > view.target else ""


def asked(view: View, workers: int, host: Host = BOUNDLESS) -> Step:
    """Change the target; refused in words while draining, out of range, or beyond what the host can hold."""
    why_not = refusal(view, workers, host)
    if why_not:
        return view, (Say("warning", "scaling refused", {"workers": workers, "why": why_not}),)
    return replace(view, target=workers), (Say("info", "scaling", {"from": view.target, "to": workers}),)


def balance(view: View, now: float) -> Step:
    """Open seats up to the target, or retire workers down to it."""
    if view.stopping is not None:
        return view, ()
    staying = [(slot, seat) for slot, seat in view.workers() if not _is_leaving(seat)]
    successor = 1 if any(replacement.outdated(view)) else 0
    surplus = len(staying) - view.target - successor
    if surplus > 0:
        return retire(view, sorted(staying, key=usefulness)[:surplus], now)
    return _open(view, -surplus, now), ()


def _is_leaving(seat: Seat) -> bool:
    return isinstance(seat, Child) and seat.leaving is not None and seat.leaving.why in GIVEN_UP


def usefulness(entry: tuple[Slot, Seat]) -> tuple[int, int]:
    """The least useful go first."""
    slot, seat = entry
    if not isinstance(seat, Child) or seat.leaving is not None:
        return 0, -slot.number
    if seat.ready_at is None:
        return 1, -slot.number
    return 2 + len(seat.running), -slot.number


def retire(view: View, surplus: list[tuple[Slot, Seat]], now: float) -> Step:
    """Close these seats; who lives there finishes what it runs, within the drain timeout."""
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


def _open(view: View, missing: int, now: float) -> View:
    if missing == 0:
        return view
    taken = {slot.number for slot, _ in view.workers()}
    free = (number for number in range(len(taken) + missing) if number not in taken)
    opened = {Slot(ChildKind.WORKER, number): Vacant(now) for _, number in zip(range(missing), free, strict=False)}
    return replace(view, seats={**view.seats, **opened})
