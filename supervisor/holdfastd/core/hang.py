"""Whether a child that says nothing is hung. Each reports every second from its event loop, so silence means that the
loop does not turn: first its stacks are dumped, much later it is ended. While it boots only the boot limit applies, as
an import may hold everything for long.
"""

from __future__ import annotations

import signal
from dataclasses import replace

from holdfastd.core import stop_child
from holdfastd.core.commands import Kill, Say
from holdfastd.core.policy import HALT_LIMIT, LATE, ROUND, SILENCE, SupervisionPolicy
from holdfastd.core.slots import REPLACED, Child, ChildKind, Leaving, StopStage, Why
from holdfastd.core.stop_child import Pressed
from holdfastd.core.view import Step, View


def look(child: Child, policy: SupervisionPolicy, now: float) -> Pressed:
    """What its silence calls for; nothing for one that is being ended already."""
    if child.slot.kind is ChildKind.STORE and child.ready_at is not None:
        return child, ()  # the store reports to nobody; the steward sees whether it answers
    if child.leaving is not None and not _takes_its_time(child.leaving):
        return child, ()
    why = _verdict(child, policy, now)
    if why is Why.HALTED:
        return stop_child.kill(child, why, now)
    if why is not None:
        return stop_child.abort(child, why, now)
    return _dump(child, now) if _is_silent(child, now) else (child, ())


def _takes_its_time(leaving: Leaving) -> bool:
    """Whoever leaves within a time of its own is pressed by that alone."""
    return leaving.why in REPLACED and leaving.stage < StopStage.ABORTING


def _verdict(child: Child, policy: SupervisionPolicy, now: float) -> Why | None:
    silent = now - child.heard
    if child.ready_at is None:
        return Why.BOOT if silent > policy.boot_timeout else None
    if child.halted_at is not None and now - child.halted_at > HALT_LIMIT:
        return Why.HALTED
    return Why.HUNG if silent > policy.hang_timeout else None


def _is_silent(child: Child, now: float) -> bool:
    return child.ready_at is not None and not child.dumped and now - child.heard > SILENCE


def _dump(child: Child, now: float) -> Pressed:
    fields = {"slot": str(child.slot), "pid": child.pid, "silent": round(now - child.heard, 1)}
    said = Say("warning", "child is silent: its stacks follow", fields)
    return replace(child, dumped=True), (said, Kill(child.slot, signal.SIGUSR1))


def halted(child: Child, now: float) -> Pressed:
    """Stopped by somebody: continued at once. It ends if it is not heard of for long all the same."""
    said = Say("warning", "child was stopped: continued", {"slot": str(child.slot), "pid": child.pid})
    first = now if child.halted_at is None else child.halted_at
    return replace(child, halted_at=first), (said, Kill(child.slot, signal.SIGCONT))


def excuse(view: View, now: float) -> Step:
    """When the parent itself was kept from looking, nobody's silence counts: all begin anew."""
    late = now - view.ticked - ROUND
    if late <= LATE:
        return view, ()
    seats = {
        slot: replace(seat, heard=now, halted_at=None) if isinstance(seat, Child) else seat
        for slot, seat in view.seats.items()
    }
    said = Say("warning", "the parent was late: this round of checks is skipped", {"late": round(late, 1)})
    return replace(view, seats=seats), (said,)
