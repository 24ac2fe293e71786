"""Tells the steward which workers live and which have died. A death is repeated until the steward acknowledges it."""

from __future__ import annotations

from dataclasses import replace

from holdfast.ipc.channel import Acknowledged, Born, Died
from holdfastd.core.commands import Command, Log, Send
from holdfastd.core.death import Cause
from holdfastd.core.slots import CLAIMING, RESEND_DEATHS_EVERY, STEWARD, Child, ChildKind
from holdfastd.core.view import Step, UnacknowledgedDeath, View


def child_forked(view: View, child: Child) -> tuple[Command, ...]:
    """The messages after a fork. If the child is a worker, the steward is told of it. If it is a steward, it is told of
    all living workers and of all deaths that no steward has acknowledged."""
    if child.slot.kind in CLAIMING:
        return _if_steward(view, Send(STEWARD, Born(child.incarnation)))
    if child.slot.kind is ChildKind.STEWARD:
        living = (Send(STEWARD, Born(worker.incarnation)) for worker in view.claiming())
        return (*living, *_unacknowledged(view))
    return ()


def child_died(view: View, child: Child, cause: Cause, cut_off: int, now: float) -> Step:
    """Send the death of a worker to the steward, and keep it until the steward acknowledges it."""
    if child.slot.kind not in CLAIMING:
        return view, ()
    message = Died(child.incarnation, str(cause), cause.charged, cause.ordered, now)
    death = UnacknowledgedDeath(message, view.stopping is not None, cut_off)
    deaths_sent_at = view.deaths_sent_at if view.unacknowledged else now
    view = replace(
        view,
        unacknowledged={**view.unacknowledged, child.incarnation: death},
        deaths_sent_at=deaths_sent_at,
    )
    return view, _if_steward(view, Send(STEWARD, message))


def acknowledged(view: View, message: Acknowledged) -> Step:
    """Forget an acknowledged death. If the worker died while the service stops, its tasks were cut off. The steward's
    message has their exact number from the store. This number replaces the number in the worker's last heartbeat. For
    an earlier death nothing is counted, because other workers may have run the tasks by now."""
    if message.incarnation not in view.unacknowledged:
        return view, ()
    unacknowledged = dict(view.unacknowledged)
    death = unacknowledged.pop(message.incarnation)
    unknown = max(0, message.recovered - death.cut_off) if death.while_stopping else 0
    fields = {"incarnation": message.incarnation, "tasks": message.recovered}
    log = Log("info" if message.recovered else "debug", "recovered", fields)
    return replace(view, unacknowledged=unacknowledged, cut_off=view.cut_off + unknown), (log,)


def resend(view: View, now: float) -> Step:
    """Send unacknowledged deaths again, because a message was lost if the channel was full."""
    if not view.unacknowledged or view.child(STEWARD) is None or now - view.deaths_sent_at < RESEND_DEATHS_EVERY:
        return view, ()
    return replace(view, deaths_sent_at=now), _unacknowledged(view)


def _unacknowledged(view: View) -> tuple[Command, ...]:
    return tuple(Send(STEWARD, death.message) for death in view.unacknowledged.values())


def _if_steward(view: View, command: Command) -> tuple[Command, ...]:
    return () if view.child(STEWARD) is None else (command,)
