"""Replacing workers that still serve: those of old code (reload) and those that are worn (recycle).

One at a time, and the successor first: a seat is opened beyond the target, and only when all of the target and one more
are ready is a worker asked to leave. It takes no more tasks then, and as long as it needs for those it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfastd.core import reload, stop_child
from holdfastd.core.commands import Command, Say
from holdfastd.core.slots import Child, ChildKind, Why
from holdfastd.core.view import Step, View, seated

NO_HURRY = 366 * 86400.0  # seconds


def renew(view: View, now: float) -> Step:
    """One step of the turnover; the seat of the successor is opened by `scale.balance`."""
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
    return Why.RECYCLED if child.worn else None


def _ready(view: View) -> int:
    return sum(child.ready_at is not None for child in _staying(view.living(ChildKind.WORKER)))


def _least_busy(child: Child) -> tuple[bool, bool, int, int]:
    """Those that boot, then the worn (they may claim nothing any more), then the idle."""
    return child.ready_at is not None, not child.worn, len(child.running), child.slot.number


def retire(view: View, child: Child, now: float) -> Step:
    """Have one of them finish what it runs, and go."""
    why = _why(view, child)
    assert why is not None
    leaving, commands = stop_child.ask_worker(child, why, now + NO_HURRY, now + NO_HURRY)
    said: list[Command] = [*commands]
    if why is Why.RECYCLED:
        said.append(Say("info", "recycling", {"slot": str(child.slot), "pid": child.pid, "why": child.worn}))
    return seated(view, child.slot, leaving), tuple(said)
