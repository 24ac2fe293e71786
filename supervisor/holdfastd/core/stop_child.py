"""Ends one child in stages: it is asked to leave, its handlers are cancelled, it gets SIGABRT, it gets SIGKILL.

The times of the stages are absolute. A drain, a scale-down, a hang and a boot timeout use the same stages. They begin
with different stages, and have different times.
"""

from __future__ import annotations

import math
import signal
from dataclasses import replace

from holdfast.ipc.channel import Drain, Leave
from holdfastd.core import slots
from holdfastd.core.commands import Command, Kill, Send
from holdfastd.core.slots import Child, ChildKind, Leaving, Slot, StopStage, Why

ABORT_SLACK = 1.0  # seconds that a worker needs to exit after its deadline

# The signal that is sent when a stage begins. CANCELLING needs no signal: the worker knows the time from the request to
# drain. The store gets no signal on ABORTING, because it does not write its stacks.
_ENTER = {StopStage.ABORTING: signal.SIGABRT, StopStage.KILLING: signal.SIGKILL}
_ENTER_STORE = {StopStage.KILLING: signal.SIGKILL}

ChildStep = tuple[Child, tuple[Command, ...]]


def ask_worker(child: Child, why: Why, cancel_at: float, deadline: float) -> ChildStep:
    """Ask a worker to finish its tasks by `deadline`. Handlers are cancelled at `cancel_at`. A second call sets new
    times."""
    return _asked(child, why, cancel_at, deadline), _asking(child, Drain(cancel_at, deadline))


def ask_service(child: Child, now: float, why: Why = Why.STOP) -> ChildStep:
    """Ask a service process (not the store) to finish and leave. The steward first acknowledges all deaths."""
    deadline = now + slots.STEWARD_LEAVE
    return _asked(child, why, deadline, deadline), _asking(child, Leave(deadline))


def _asked(child: Child, why: Why, cancel_at: float, deadline: float) -> Child:
    abort_at = deadline + ABORT_SLACK
    leaving = Leaving(why, StopStage.ASKED, cancel_at, abort_at, abort_at + slots.ABORT_GRACE)
    return replace(child, leaving=leaving)


def ask_store(child: Child, now: float) -> ChildStep:
    """Ask the store to save its data and leave."""
    deadline = now + slots.STORE_LEAVE
    leaving = Leaving(Why.STOP, StopStage.ASKED, deadline, deadline, deadline)
    return replace(child, leaving=leaving), (Kill(child.slot, signal.SIGTERM), Kill(child.slot, signal.SIGCONT))


def abort(child: Child, why: Why, now: float) -> ChildStep:
    """Send SIGABRT now, so that the child writes its stacks, and SIGKILL soon after."""
    leaving = Leaving(why, StopStage.CANCELLING, now, now, now + slots.ABORT_GRACE)
    return advance(replace(child, leaving=leaving), now)


def kill(child: Child, why: Why, now: float) -> ChildStep:
    """Send SIGKILL now, whatever stage the child is in."""
    killed = replace(child, leaving=Leaving(why, StopStage.KILLING, now, now, now))
    return killed, (Kill(child.slot, signal.SIGKILL),)


def advance(child: Child, now: float) -> ChildStep:
    """Let the child enter all stages whose time has come."""
    commands: list[Command] = []
    while child.leaving is not None and due(child.leaving) <= now:
        stage = StopStage(child.leaving.stage + 1)
        child = replace(child, leaving=replace(child.leaving, stage=stage))
        commands += _entering(child.slot, stage)
    return child, tuple(commands)


def due(leaving: Leaving) -> float:
    """The time at which the next stage begins."""
    return (leaving.cancel_at, leaving.abort_at, leaving.kill_at, math.inf)[leaving.stage]


def _asking(child: Child, message: Drain | Leave) -> tuple[Command, ...]:
    """The commands that ask a child to leave with this message. A stopped child is continued, so that it reads the
    message. A booting child gets SIGTERM, because it may be in a long import."""
    asking = (Send(child.slot, message), Kill(child.slot, signal.SIGCONT))
    return asking if child.ready_at is not None else (*asking, Kill(child.slot, signal.SIGTERM))


def _entering(slot: Slot, stage: StopStage) -> list[Command]:
    number = (_ENTER_STORE if slot.kind is ChildKind.STORE else _ENTER).get(stage)
    return [] if number is None else [Kill(slot, number)]
