"""Detects children that hang. A child reports every second from its event loop, so the event loop of a silent child is
blocked. After a short silence the parent has the child write its stacks; after `hang_timeout` it ends the child. While
a child starts, only the boot timeout applies, because an import may take long."""

from __future__ import annotations

import signal
from dataclasses import replace

from holdfast.ipc.channel import Silent
from holdfastd.core import slots, stop_child
from holdfastd.core.commands import Kill, Log, Send
from holdfastd.core.slots import CLAIMING, ROUND, Child, ChildKind, Leaving, StopStage, SupervisionPolicy, Why
from holdfastd.core.stop_child import ChildStep
from holdfastd.core.view import Step, View


def check(child: Child, policy: SupervisionPolicy, now: float) -> ChildStep:
    """If the child was silent for too long, have it write its stacks; after the hang timeout end it. A child that is
    being ended already is left alone."""
    if child.slot.kind is ChildKind.STORE and child.ready_at is not None:
        return child, ()  # the store sends no messages; the steward checks whether the store answers
    if child.leaving is not None and not _takes_its_time(child.leaving):
        return child, ()
    why = _verdict(child, policy, now)
    if why is Why.SIGSTOPPED:
        return stop_child.kill(child, why, now)
    if why is not None:
        return stop_child.abort(child, why, now)
    is_silent = child.ready_at is not None and now - child.last_message_at > slots.SILENCE
    return _note_silence(child, now) if is_silent else (child, ())


def _takes_its_time(leaving: Leaving) -> bool:
    """True for a replaced worker that finishes its tasks without a deadline. Such a worker must go on reporting."""
    return leaving.why in slots.REPLACED and leaving.stage < StopStage.ABORTING


def _verdict(child: Child, policy: SupervisionPolicy, now: float) -> Why | None:
    silent = now - child.last_message_at
    if child.ready_at is None:
        return Why.BOOT if silent > policy.boot_timeout else None
    if child.sigstopped_at is not None and now - child.sigstopped_at > slots.SIGSTOP_LIMIT:
        return Why.SIGSTOPPED
    return Why.HUNG if silent > policy.hang_timeout else None


def _note_silence(child: Child, now: float) -> ChildStep:
    """Have a silent child write its stacks, once. If the child is a worker, tell the steward every second. The steward
    then puts back the tasks that this worker has not begun."""
    child, commands = (child, ()) if child.dumped else _dump(child, now)
    if child.slot.kind not in CLAIMING or now - child.silence_told_at < ROUND:
        return child, commands
    return replace(child, silence_told_at=now), (*commands, Send(slots.STEWARD, Silent(child.incarnation)))


def _dump(child: Child, now: float) -> ChildStep:
    words = "child has not reported for some seconds: its stacks follow"
    log = Log.about(child, "warning", words, silent=round(now - child.last_message_at, 1))
    return replace(child, dumped=True), (log, Kill(child.slot, signal.SIGUSR1))


def continue_stopped(child: Child, now: float) -> ChildStep:
    """Continue a child that a signal has stopped. If it then does not report within SIGSTOP_LIMIT, it is ended."""
    log = Log.about(child, "warning", "child was stopped by a signal: it is continued")
    first = now if child.sigstopped_at is None else child.sigstopped_at
    return replace(child, sigstopped_at=first), (log, Kill(child.slot, signal.SIGCONT))


def skip_if_late(view: View, now: float) -> Step:
    """If the parent itself was delayed, count the silence of all children from now on."""
    late = now - view.ticked - ROUND
    if late <= slots.LATE:
        return view, ()
    heard = {seat.slot: replace(seat, last_message_at=now, sigstopped_at=None) for seat in view.children()}
    log = Log("warning", "the parent was delayed: this round of checks is skipped", {"late": round(late, 1)})
    return replace(view, seats={**view.seats, **heard}), (log,)
