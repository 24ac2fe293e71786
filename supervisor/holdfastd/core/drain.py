"""Ends the service in this order: the workers, the steward (which records the workers' deaths), the store (which both
need).

The first stop signal starts the drain. The second one cancels handlers. The third one (or SIGQUIT) kills. All times are
absolute. They are set when the drain starts, and again when it is shortened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.exits import Exit
from holdfastd.core import stop_child
from holdfastd.core.commands import Command, Log, Print
from holdfastd.core.slots import CLAIMING, REPLACED, Child, ChildKind, Forking, Slot, StopStage, Why
from holdfastd.core.stop_child import ChildStep
from holdfastd.core.view import Step, Stopping, View, removed, seated

ORDER = (
    CLAIMING,
    frozenset({ChildKind.WATCHER, ChildKind.WEB, ChildKind.LOADER}),
    frozenset({ChildKind.STEWARD}),
    frozenset({ChildKind.STORE}),
)

NEEDED = frozenset({ChildKind.STEWARD, ChildKind.STORE})  # workers that finish their tasks need these
CUT_OFF_LINE = "ended; interrupted tasks run again after the next start, or on another host"


def begin(view: View, now: float, code: int = Exit.OK, closing_line: str = "") -> Step:
    """Start the drain; a second call changes nothing. `code`: the exit status of the service if no task is cut off."""
    if view.stopping is not None:
        return view, ()
    deadline = now + view.policy.drain_timeout
    stopping = Stopping(deadline - view.policy.cancel_grace, deadline, code, closing_line=closing_line)
    log = Log("info", "draining", {"timeout": view.policy.drain_timeout})
    return replace(view, stopping=stopping), (log,)


def begin_at_once(view: View, now: float, code: int) -> Step:
    """Start to stop without waiting for tasks; a second call changes nothing. The children end in the same order, and
    the store is asked to leave, so that it saves its data."""
    if view.stopping is not None:
        return view, ()
    return replace(view, stopping=Stopping(now, now, code)), ()


def begin_killing(view: View, now: float, code: int = Exit.OK) -> Step:
    """Start to stop, or go on with it, by killing every child with SIGKILL."""
    view, _ = begin(view, now, code)
    assert view.stopping is not None
    log = Log("warning", "killing all remaining processes")
    return replace(view, stopping=replace(view.stopping, killing=True)), (log,)


def another_signal(view: View, now: float) -> Step:
    """Handle a stop signal: the first one starts the drain, the second one shortens it, the third one kills."""
    if view.stopping is None:
        return begin(view, now)
    signals = view.stopping.signals + 1
    view = replace(view, stopping=replace(view.stopping, signals=signals))
    return _hasten(view, now) if signals == 2 else begin_killing(view, now)


def begin_shortened(view: View, now: float) -> Step:
    """Start to stop, or go on with it, by cancelling handlers. A second call changes nothing: it does not kill."""
    view, started = begin(view, now)
    if view.stopping is None or view.stopping.signals > 1 or view.stopping.killing:
        return view, started
    view, shortened = another_signal(view, now)
    return view, (*started, *shortened)


def _hasten(view: View, now: float) -> Step:
    assert view.stopping is not None
    deadline = min(view.stopping.deadline, now + view.policy.cancel_grace)
    hastened = replace(view.stopping, cancel_at=min(view.stopping.cancel_at, now), deadline=deadline)
    log = Log("warning", "drain was shortened: handlers are cancelled")
    return _each(replace(view, stopping=hastened), list(view.claiming()), _ask_again(hastened), (log,))


def _ask_again(stopping: Stopping) -> Callable[[Child], ChildStep]:
    def ask(child: Child) -> ChildStep:
        if child.leaving is not None and child.leaving.stage >= StopStage.ABORTING:
            return child, ()
        return stop_child.ask_worker(child, Why.STOP, stopping.cancel_at, stopping.deadline)

    return ask


def proceed(view: View, now: float) -> Step:
    """Do one step of the drain: ask the children of the first kind that still lives to leave. If no child lives, end
    the service."""
    stopping = view.stopping
    if stopping is None:
        return view, ()
    if stopping.killing:
        return _kill_all(view, now)
    for kinds in ORDER:
        seats = [seat for slot, seat in view.seats.items() if slot.kind in kinds]
        if any(isinstance(seat, Child | Forking) for seat in seats):
            asked = [seat for seat in seats if isinstance(seat, Child) and _has_time(seat, stopping)]
            return _each(view, asked, lambda child: _ask(child, stopping, now))
        view = removed(view, *(slot for slot in view.seats if slot.kind in kinds))
    return _finish(view)


def _has_time(child: Child, stopping: Stopping) -> bool:
    """True if the child was not asked to leave yet, or has a later deadline than the drain."""
    leaving = child.leaving
    return leaving is None or (leaving.why in REPLACED and leaving.cancel_at > stopping.cancel_at)


def _finish(view: View) -> Step:
    assert view.stopping is not None
    code = int(view.stopping.code or (Exit.CUT_OFF if view.cut_off else Exit.OK))
    log = Log(
        "info", "ended", {"code": code, "cut_off": view.cut_off, "unacknowledged_deaths": len(view.unacknowledged)}
    )
    # The line explains the exit status if tasks were cut off.
    words = view.stopping.closing_line or (CUT_OFF_LINE if view.cut_off else "")
    return replace(view, over=code), (log, Print(words)) if words else (log,)


def _kill_all(view: View, now: float) -> Step:
    view = removed(view, *(slot for slot, seat in view.seats.items() if not isinstance(seat, Child | Forking)))
    if not view.seats:
        return _finish(view)
    alive = [child for child in view.children() if not _is_killed(child)]
    return _each(view, alive, lambda child: stop_child.kill(child, Why.STOP, now))


def _is_killed(child: Child) -> bool:
    return child.leaving is not None and child.leaving.stage is StopStage.KILLING


def _ask(child: Child, stopping: Stopping, now: float) -> ChildStep:
    if child.slot.kind in CLAIMING:
        return stop_child.ask_worker(child, Why.STOP, stopping.cancel_at, stopping.deadline)
    if child.slot.kind is ChildKind.STORE:
        return stop_child.ask_store(child, now)
    return stop_child.ask_service(child, now)


def _each(view: View, children: list[Child], act: Callable[[Child], ChildStep], log: tuple[Command, ...] = ()) -> Step:
    commands: list[Command] = list(log)
    for child in children:
        updated, sent = act(child)
        view = seated(view, child.slot, updated)
        commands += sent
    return view, tuple(commands)


def cut_off(child: Child) -> int:
    """The number of tasks that this worker's death left unfinished, as far as the parent knows. Tasks that the worker
    has released do not count."""
    if child.drained:
        return child.held
    if child.leaving is not None and child.leaving.stage >= StopStage.ABORTING and child.ready_at is not None:
        return max(1, len(child.running))
    return len(child.running)


def keeps(view: View, slot: Slot) -> bool:
    """True if this slot is filled again after a death. While the service stops, only the slots of the steward and the
    store are, as long as workers need them."""
    if view.stopping is None:
        return True
    return slot.kind in NEEDED and not view.stopping.killing and any(view.claiming())
