"""The end of the service: workers, then the steward (it records their deaths), then the store (both need it).

A first signal asks, a second hastens workers to cancelling, a third (or QUIT) kills. All times are absolute and fixed
when the drain begins, or when it is hastened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.exits import Exit
from holdfastd.core import stop_child
from holdfastd.core.commands import Command, Say, Show
from holdfastd.core.slots import CLAIMING, REPLACED, Child, ChildKind, Forking, Slot, StopStage, Why
from holdfastd.core.stop_child import Pressed
from holdfastd.core.view import Step, Stopping, View, removed, seated

ORDER = (CLAIMING, frozenset({ChildKind.WATCHER}), frozenset({ChildKind.STEWARD}), frozenset({ChildKind.STORE}))

NEEDED = frozenset({ChildKind.STEWARD, ChildKind.STORE})  # by workers that finish


def begin(view: View, now: float, code: int = Exit.OK, last_words: str = "") -> Step:
    """Start to stop, once. `code` is what the service exits with if nothing is cut off."""
    if view.stopping is not None:
        return view, ()
    deadline = now + view.policy.drain_timeout
    stopping = Stopping(deadline - view.policy.cancel_grace, deadline, code, last_words=last_words)
    said = Say("info", "draining", {"timeout": view.policy.drain_timeout})
    return replace(view, stopping=stopping), (said,)


def begin_at_once(view: View, now: float, code: int) -> Step:
    """Start to stop, once, and wait for no task. The order is kept: the store is asked, so that it ends whole."""
    if view.stopping is not None:
        return view, ()
    return replace(view, stopping=Stopping(now, now, code)), ()


def begin_killing(view: View, now: float, code: int = Exit.OK) -> Step:
    """Start to stop, or go on to stop, with SIGKILL for everybody."""
    view, _ = begin(view, now, code)
    assert view.stopping is not None
    said = Say("warning", "killing what is left")
    return replace(view, stopping=replace(view.stopping, killing=True)), (said,)


def another_signal(view: View, now: float) -> Step:
    """A stop signal: the first begins, the second hastens, the third kills."""
    if view.stopping is None:
        return begin(view, now)
    signals = view.stopping.signals + 1
    view = replace(view, stopping=replace(view.stopping, signals=signals))
    return _hasten(view, now) if signals == 2 else begin_killing(view, now)


def _hasten(view: View, now: float) -> Step:
    assert view.stopping is not None
    deadline = min(view.stopping.deadline, now + view.policy.cancel_grace)
    hastened = replace(view.stopping, cancel_at=min(view.stopping.cancel_at, now), deadline=deadline)
    said = Say("warning", "hastened: handlers are cancelled")
    return _each(replace(view, stopping=hastened), list(view.claiming()), _ask_again(hastened), (said,))


def _ask_again(stopping: Stopping) -> Callable[[Child], Pressed]:
    def ask(child: Child) -> Pressed:
        if child.leaving is not None and child.leaving.stage >= StopStage.ABORTING:
            return child, ()
        return stop_child.ask_worker(child, Why.STOP, stopping.cancel_at, stopping.deadline)

    return ask


def proceed(view: View, now: float) -> Step:
    """One step of the order: ask the first kind that still lives; over when nobody does."""
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
    """Nobody has asked it to leave, or whoever did has left it more time than there is now."""
    leaving = child.leaving
    return leaving is None or (leaving.why in REPLACED and leaving.cancel_at > stopping.cancel_at)


def _finish(view: View) -> Step:
    assert view.stopping is not None
    code = int(view.stopping.code or (Exit.CUT_OFF if view.cut_off else Exit.OK))
    said = Say("info", "ended", {"code": code, "cut_off": view.cut_off, "untold": len(view.untold)})
    words = view.stopping.last_words or _given_back(view)
    shown = (Show(words),) if words else ()
    return replace(view, over=code), (said, *shown)


def _given_back(view: View) -> str:
    """Why it does not end with 0."""
    if not view.cut_off:
        return ""
    return "ended; what was cut off unfinished runs again: after the next start, or on another host"


def _kill_all(view: View, now: float) -> Step:
    view = removed(view, *(slot for slot, seat in view.seats.items() if not isinstance(seat, Child | Forking)))
    if not view.seats:
        return _finish(view)
    alive = [seat for seat in view.seats.values() if isinstance(seat, Child) and not _is_killed(seat)]
    return _each(view, alive, lambda child: stop_child.kill(child, Why.STOP, now))


def _is_killed(child: Child) -> bool:
    return child.leaving is not None and child.leaving.stage is StopStage.KILLING


def _ask(child: Child, stopping: Stopping, now: float) -> Pressed:
    if child.slot.kind in CLAIMING:
        return stop_child.ask_worker(child, Why.STOP, stopping.cancel_at, stopping.deadline)
    return (
        stop_child.ask_store(child, now) if child.slot.kind is ChildKind.STORE else stop_child.ask_service(child, now)
    )


def _each(view: View, children: list[Child], act: Callable[[Child], Pressed], said: tuple[Command, ...] = ()) -> Step:
    commands: list[Command] = list(said)
    for child in children:
        pressed, sent = act(child)
        view = seated(view, child.slot, pressed)
        commands += sent
    return view, tuple(commands)


def cut_off(child: Child) -> int:
    """How many tasks this worker's end left unfinished beside those it released, as far as the parent can know."""
    if child.leaving is not None and child.leaving.stage >= StopStage.ABORTING and child.ready_at is not None:
        return max(1, len(child.running))
    return 0 if child.drained else len(child.running)


def keeps(view: View, slot: Slot) -> bool:
    """Whether this slot is filled again after a death: while the service stops only what workers still need."""
    if view.stopping is None:
        return True
    return slot.kind in NEEDED and not view.stopping.killing and any(view.claiming())
