"""What the steward is told of the workers: who was born, and who died until it has acknowledged that."""

from __future__ import annotations

from dataclasses import replace

from holdfast.ipc.channel import Acknowledged, Born, Died
from holdfastd.core.commands import Command, Say, Send
from holdfastd.core.death import Cause
from holdfastd.core.policy import RETELL
from holdfastd.core.slots import CLAIMING, STEWARD, Child, ChildKind
from holdfastd.core.view import Step, Untold, View


def born(view: View, child: Child) -> tuple[Command, ...]:
    """A worker to the steward; to a new steward everything that its predecessor was told and is still so."""
    if child.slot.kind in CLAIMING:
        return _if_steward(view, Send(STEWARD, Born(child.incarnation)))
    if child.slot.kind is ChildKind.STEWARD:
        living = (Send(STEWARD, Born(worker.incarnation)) for worker in view.claiming())
        return (*living, *_untold(view))
    return ()


def died(view: View, child: Child, cause: Cause, cut_off: int, now: float) -> Step:
    """Remember the death of a worker until it is acknowledged, and tell it now."""
    if child.slot.kind not in CLAIMING:
        return view, ()
    message = Died(child.incarnation, str(cause), cause.charged, cause.ordered)
    told_at = view.told_at if view.untold else now
    view = replace(view, untold={**view.untold, child.incarnation: Untold(message, cut_off)}, told_at=told_at)
    return view, _if_steward(view, Send(STEWARD, message))


def acknowledged(view: View, message: Acknowledged) -> Step:
    """What was put back while the service stops was cut off, and the store knows better than the last beat how much."""
    if message.incarnation not in view.untold:
        return view, ()
    untold = dict(view.untold)
    unknown = max(0, message.recovered - untold.pop(message.incarnation).cut_off)
    fields = {"incarnation": message.incarnation, "tasks": message.recovered}
    said = Say("info" if message.recovered else "debug", "recovered", fields)
    cut_off = view.cut_off + (0 if view.stopping is None else unknown)
    return replace(view, untold=untold, cut_off=cut_off), (said,)


def again(view: View, now: float) -> Step:
    """Repeat what stays unacknowledged: a message may have been dropped with a full channel."""
    if not view.untold or view.child(STEWARD) is None or now - view.told_at < RETELL:
        return view, ()
    return replace(view, told_at=now), _untold(view)


def _untold(view: View) -> tuple[Command, ...]:
    return tuple(Send(STEWARD, one.message) for one in view.untold.values())


def _if_steward(view: View, command: Command) -> tuple[Command, ...]:
    return () if view.child(STEWARD) is None else (command,)
