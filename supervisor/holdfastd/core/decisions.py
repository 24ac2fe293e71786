"""`decide(view, event, now) -> (view, commands)` makes every decision of the parent: a table maps events to functions.

These functions use no clock, no randomness and no I/O. Most events only update the view. The event Tick ends each turn
of the loop: it orders forks for the places (seats) without a child, ends children whose time has come, and ends the
service.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holdfastd.core import (
    child_events,
    drain,
    hang,
    loader_decisions,
    notify_steward,
    quarantine,
    reload,
    restart,
    scale,
    slots,
    stack_dump,
    stop_child,
)
from holdfastd.core import parent_events as events
from holdfastd.core.commands import Command, Fork
from holdfastd.core.slots import CLAIMING, ChildKind, Forking, Slot, SupervisionPolicy, Vacant
from holdfastd.core.view import Step, View, seated

# Fills vacant seats: first the store, then the steward, then the workers. No worker starts before the steward's first
# preflight has succeeded. The first workers of a generation wait until the loader has imported the handler.


def fill(view: View, now: float) -> Step:
    """Order forks for the places (seats) without a child whose time has come: services first, and at most BATCH in one
    step."""
    due = [slot for at, slot in sorted(openings(view), key=_services_first) if at <= now][: slots.BATCH]
    commands: list[Command] = []
    for slot in due:
        seat = view.seats[slot]
        assert isinstance(seat, Vacant)
        view = restart.mark_probe(seated(view, slot, Forking(seat.record, view.generation)), slot)
        by_loader = slot.kind in CLAIMING and loader_decisions.serves(view)
        commands.append(Fork(slot, slot.kind not in view.ready_kinds, view.generation, by_loader))
    return view, tuple(commands)


def openings(view: View) -> list[tuple[float, Slot]]:
    """The slots without a child for which a child may be forked, each with the time from which on it may."""
    services = [
        (seat.due, slot)
        for slot, seat in view.seats.items()
        if slot.kind not in CLAIMING and isinstance(seat, Vacant) and _may_start(view, slot)
    ]
    if view.stopping is not None or ChildKind.STEWARD not in view.ready_kinds or loader_decisions.is_awaited(view):
        return services
    return services + restart.candidates(view) + quarantine.candidates(view)


def _may_start(view: View, slot: Slot) -> bool:
    waits_for_store = (
        slot.kind is ChildKind.STEWARD and view.policy.embedded and ChildKind.STORE not in view.ready_kinds
    )
    return drain.keeps(view, slot) and not waits_for_store


def _services_first(opening: tuple[float, Slot]) -> tuple[bool, float, int]:
    due, slot = opening
    return slot.kind in CLAIMING, due, slot.number


def begin(policy: SupervisionPolicy, workers: int, now: float) -> View:
    """The state of the parent (its view) before the first fork."""
    wanted = {
        slots.STORE: policy.embedded,
        slots.STEWARD: True,
        slots.WATCHER: policy.watched,
        slots.WEB: policy.web,
    }
    return View(policy, workers, now, seats={slot: Vacant(now) for slot, is_wanted in wanted.items() if is_wanted})


def decide(view: View, event: events.Event, now: float) -> Step:
    """The state of the parent (its view) after `event`, and the commands that the parent must then execute. `now`:
    monotonic seconds."""
    return _HANDLERS[type(event)](view, event, now)


def next_due(view: View, now: float) -> float:
    """The time at which the next Tick has something to do, at most ROUND seconds from now."""
    leaving = [stop_child.due(child.leaving) for child in view.children() if child.leaving is not None]
    dumps = [view.dump_at] if view.to_dump else []
    return min((now + slots.ROUND, *leaving, *dumps, *(due for due, _ in openings(view))))


def _tick(view: View, _: events.Tick, now: float) -> Step:
    commands: list[Command] = []
    for step in _ROUND:
        view, sent = step(view, now)
        commands += sent
    return replace(view, ticked=now), tuple(commands)


def _check_children(view: View, now: float) -> Step:
    """Check all children. Move leaving children to their next stage if it is time, and detect children that hang."""
    commands: list[Command] = []
    for seat in view.children():
        child, stop_commands = stop_child.advance(seat, now)
        child, hang_commands = hang.check(child, view.policy, now)
        view = view if child is seat else seated(view, seat.slot, child)
        commands += (*stop_commands, *hang_commands)
    return view, tuple(commands)


def _signalled(view: View, event: events.Signalled, now: float) -> Step:
    match event.number:
        case signal.SIGTERM | signal.SIGINT:
            return drain.another_signal(view, now)
        case signal.SIGQUIT:
            return drain.begin_killing(view, now)
        case signal.SIGUSR1:
            return stack_dump.asked(view, now)
        case signal.SIGHUP:
            return drain.begin(view, now) if event.terminal_gone else reload.asked(view)
        case signal.SIGTTIN:
            return scale.asked(view, view.target + 1, event.host)
        case signal.SIGTTOU:
            return scale.asked(view, view.target - 1)
        case _:
            return view, ()


def _stop_asked(view: View, event: events.StopAsked, now: float) -> Step:
    return drain.begin_shortened(view, now) if event.now else drain.begin(view, now)


# The steps of a tick, in this order. The silence of children is forgiven if the parent itself was late, so this comes
# before the check for hangs. Seats are removed before seats are filled.
_ROUND = (
    hang.skip_if_late,
    _check_children,
    restart.close_if_recovered,
    reload.renew,
    loader_decisions.renew,
    scale.balance,
    quarantine.balance,
    drain.proceed,
    fill,
    notify_steward.resend,
    stack_dump.proceed,
)

_HANDLERS: dict[type, Callable[[View, Any, float], Step]] = {
    events.Forked: child_events.forked,
    events.ForkFailed: child_events.fork_failed,
    events.MessageReceived: child_events.message_received,
    events.StoreOpened: child_events.store_opened,
    events.ChildStopped: child_events.child_stopped,
    events.Exited: child_events.exited,
    events.Signalled: _signalled,
    events.ScaleAsked: lambda view, event, _: scale.asked(view, event.workers, event.host),
    events.StacksWanted: lambda view, event, _: stack_dump.to_memory(view, event.slot),
    events.HostMeasured: quarantine.measured,
    events.ReloadAsked: lambda view, _, __: reload.asked(view),
    events.SettingsRead: lambda view, event, _: reload.begin(view, event),
    events.StopAsked: _stop_asked,
    events.Tick: _tick,
}
