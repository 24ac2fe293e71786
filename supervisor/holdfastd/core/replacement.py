"""Replaces living workers: those of old code (reload) and those that ask to be recycled.

One at a time, and the successor comes first: a seat is opened above the target, and a worker is asked to leave only
when the target and one more are ready. It takes no more tasks then, and has as long as it needs for those it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfastd.core import reload, stop_child
from holdfastd.core.commands import Command, Log
from holdfastd.core.slots import Child, ChildKind, Why
from holdfastd.core.view import Step, View, seated

NO_HURRY = 366 * 86400.0  # seconds


def renew(view: View, now: float) -> Step:
    """Do one step of the replacement; `scale.balance` opens the seat of the successor."""
    if view.stopping is not None:
        return view, ()
    retired: tuple[Command, ...] = ()
    waiting = list(outdated(view))
    if waiting and _ready(view) > view.target:
        view, retired = retire(view, min(waiting, key=_least_busy), now)
    view, finished = (view, ()) if any(outdated(view)) else reload.finish(view)
    return view, (*retired, *finished)


def outdated(view: View, kind: ChildKind = ChildKind.WORKER) -> Iterator[Child]:
    """Workers that take tasks, or are about to, and should be replaced."""
    return (child for child in _staying(view.living(kind)) if _why(view, child) is not None)


def _staying(children: Iterable[Child]) -> Iterator[Child]:
    return (child for child in children if child.leaving is None)


def _why(view: View, child: Child) -> Why | None:
    if child.generation < view.generation:
        return Why.RELOADED
    return Why.RECYCLED if child.recycle_reason else None


def _ready(view: View) -> int:
    return sum(child.ready_at is not None for child in _staying(view.living(ChildKind.WORKER)))


def _least_busy(child: Child) -> tuple[bool, bool, int, int]:
    """Sort key: workers that boot first, then those to be recycled (they may have stopped claiming), then the idle."""
    return child.ready_at is not None, not child.recycle_reason, len(child.running), child.slot.number


def retire(view: View, child: Child, now: float) -> Step:
    """Ask one worker to finish its tasks and leave."""
    why = _why(view, child)
    assert why is not None
    leaving, commands = stop_child.ask_worker(child, why, now + NO_HURRY, now + NO_HURRY)
    log: list[Command] = [*commands]
    if why is Why.RECYCLED:
        log.append(
            Log("info", "recycling", {"slot": str(child.slot), "pid": child.pid, "reason": child.recycle_reason})
        )
    return seated(view, child.slot, leaving), tuple(log)
