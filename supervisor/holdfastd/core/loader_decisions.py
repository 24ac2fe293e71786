"""Decides about the loader: a child that imports the handler once and forks the workers, which share its memory.

The first workers of a generation wait until the loader is ready. If the loader fails (its import cannot be shared,
hangs or crashes), the workers of this generation import the handler themselves. Workers that start while a dead loader
is being replaced do the same.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.exits import ChildExit
from holdfastd.core import stop_child
from holdfastd.core.commands import Log
from holdfastd.core.death import Cause, Reason
from holdfastd.core.slots import LOADER, Child, ChildKind, Vacant, Why
from holdfastd.core.view import NotShared, Step, View, seated


def renew(view: View, now: float) -> Step:
    """Do one step for the loader: ask a loader of another generation to leave, or make a place (a seat) for a new
    loader."""
    if not view.policy.preloaded or view.stopping is not None:
        return view, ()
    child = view.child(LOADER)
    if child is not None and child.leaving is None and child.generation != view.generation:
        leaving, commands = stop_child.ask_service(child, now, Why.RELOADED)
        return seated(view, LOADER, leaving), commands
    if LOADER not in view.seats and not _is_given_up(view):
        return seated(view, LOADER, Vacant(now)), ()
    return view, ()


def serves(view: View) -> bool:
    """True if a loader is ready to fork workers. Such a loader has the code of this generation, because `renew` asks
    older loaders to leave."""
    child = view.child(LOADER)
    return child is not None and child.ready_at is not None and child.leaving is None


def is_awaited(view: View) -> bool:
    """True while the first workers of this generation wait for the loader."""
    if not view.policy.preloaded or _is_given_up(view) or serves(view):
        return False
    return ChildKind.WORKER not in view.ready_kinds or (view.reload is not None and not view.reload.proven)


def has_failed(child: Child) -> bool:
    """True for a loader that died before it was ready, if it was not asked to leave for a newer generation."""
    is_replaced = child.leaving is not None and child.leaving.why in {Why.RELOADED, Why.STOP}
    return child.slot.kind is ChildKind.LOADER and child.ready_at is None and not is_replaced


def failed(view: View, child: Child, cause: Cause) -> Step:
    """Have the workers of this generation import the handler themselves. If the import fails, they report the error."""
    why = cause.detail if cause.reason is Reason.BOOT_FAILURE else f"the import ended its process: {cause}"
    is_reported = child.boot_error is not None and child.boot_error.code == ChildExit.BOOT_FAILED
    level = "debug" if is_reported else "warning"
    log = Log(level, "the handler is not preloaded: each worker imports it", {"reason": why})
    return replace(view, not_shared=NotShared(child.generation, why)), (log,)


def why_not_shared(view: View) -> str:
    """The reason why the workers of this generation import the handler themselves; empty if they share one import."""
    return view.not_shared.why if view.not_shared is not None and _is_given_up(view) else ""


def _is_given_up(view: View) -> bool:
    return view.not_shared is not None and view.not_shared.generation == view.generation
