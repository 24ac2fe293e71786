"""Fills vacant seats: the store before the steward, the steward before the workers. No worker starts before the
steward's first preflight has succeeded, and the first ones of a generation wait for the loader's import."""

from __future__ import annotations

from holdfastd.core import crash_breaker, drain, loader, quarantine
from holdfastd.core.commands import Command, Fork
from holdfastd.core.policy import BATCH
from holdfastd.core.slots import CLAIMING, ChildKind, Forking, Slot, Vacant
from holdfastd.core.view import Step, View, seated


def fill(view: View, now: float) -> Step:
    """Order forks for the seats that are due, a limited number at a time, services first."""
    due = [slot for at, slot in sorted(openings(view), key=_services_first) if at <= now][:BATCH]
    commands: list[Command] = []
    for slot in due:
        seat = view.seats[slot]
        assert isinstance(seat, Vacant)
        view = crash_breaker.mark_probe(seated(view, slot, Forking(seat.record, view.generation)), slot)
        by_loader = slot.kind in CLAIMING and loader.serves(view)
        commands.append(Fork(slot, slot.kind not in view.ready_kinds, view.generation, by_loader))
    return view, tuple(commands)


def openings(view: View) -> list[tuple[float, Slot]]:
    """The vacant seats that may be filled, and when."""
    services = [
        (seat.due, slot)
        for slot, seat in view.seats.items()
        if slot.kind not in CLAIMING and isinstance(seat, Vacant) and _may_start(view, slot)
    ]
    if view.stopping is not None or ChildKind.STEWARD not in view.ready_kinds or loader.is_awaited(view):
        return services
    return services + crash_breaker.candidates(view) + quarantine.candidates(view)


def _may_start(view: View, slot: Slot) -> bool:
    waits_for_store = (
        slot.kind is ChildKind.STEWARD and view.policy.embedded and ChildKind.STORE not in view.ready_kinds
    )
    return drain.keeps(view, slot) and not waits_for_store


def _services_first(opening: tuple[float, Slot]) -> tuple[bool, float, int]:
    due, slot = opening
    return slot.kind in CLAIMING, due, slot.number
