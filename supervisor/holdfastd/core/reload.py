"""Handles a reload: new workers import the handler again, while the old ones serve until a new one is ready.

The first new worker is the canary. If it cannot boot, the new generation is dropped and the old workers continue; once
it is ready, `renew` replaces the others one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfastd.core import stop_child
from holdfastd.core.commands import Command, Log, ReadSettings
from holdfastd.core.death import Cause, Reason
from holdfastd.core.parent_events import SettingsRead
from holdfastd.core.slots import Child, ChildKind, Why
from holdfastd.core.view import Reload, Reloaded, Step, View, seated

TRIES = 3  # deaths of canaries without a boot error: they may have been killed from outside


def refusal(view: View) -> str:
    """The reason why nothing can be reloaded now, or empty."""
    if view.stopping is not None:
        return "the supervisor is draining: nothing is reloaded any more"
    if ChildKind.WORKER not in view.ready_kinds:
        return "no worker has been ready yet: there is nothing to replace"
    return ""


def asked(view: View) -> Step:
    """Order the settings to be read for a new generation, or log why not."""
    if why_not := refusal(view):
        return view, (Log("warning", "reload refused", {"reason": why_not}),)
    generation = view.generations + 1
    needed = frozenset({view.generation, view.reload.before if view.reload is not None else view.generation})
    return replace(view, generations=generation), (ReadSettings(generation, needed),)


def begin(view: View, event: SettingsRead) -> Step:
    """Start a generation whose settings are valid. It supersedes an earlier one that is not proven yet."""
    if error := event.error or refusal(view):
        log = Log("error", "reload refused: everything stays as it is", {"reason": error})
        return replace(view, reloaded=Reloaded(event.generation, error)), (log,)
    before = view.reload.before if view.reload is not None and not view.reload.proven else view.generation
    log = Log("info", "reloading", {"generation": event.generation})
    return replace(view, generation=event.generation, reload=Reload(before), last_printed=""), (log,)


def ready(view: View, child: Child) -> Step:
    """A worker is ready. If it is the first of a new generation, it proves that the generation's code works."""
    if view.reload is None or view.reload.proven or not _is_canary(view, child):
        return view, ()
    log = Log("info", "the new code boots: the other workers are replaced", {"generation": view.generation})
    return replace(view, reload=replace(view.reload, proven=True)), (log,)


def never_ready(view: View, child: Child, cause: Cause) -> Step:
    """A worker has died before it was ready: if its generation is not proven yet, the reload may have failed."""
    if view.reload is None or view.reload.proven or not _is_canary(view, child) or cause.reason is Reason.REQUESTED:
        return view, ()
    deaths = view.reload.deaths + 1
    if cause.reason is Reason.BOOT_FAILURE or deaths >= TRIES:
        return _failed(view, child, cause)
    return replace(view, reload=replace(view.reload, deaths=deaths)), ()


def finish(view: View) -> Step:
    """End the reload: no worker of an earlier generation takes tasks any more."""
    if view.reload is None or not view.reload.proven:
        return view, ()
    log = Log("info", "reloaded", {"generation": view.generation, "draining": draining(view)})
    return replace(view, reload=None, reloaded=Reloaded(view.generation)), (log,)


def draining(view: View) -> int:
    """The number of workers of earlier code that still finish their tasks."""
    return sum(bool(child.running) and child.generation < view.generation for child in view.claiming())


def _failed(view: View, child: Child, cause: Cause) -> Step:
    assert view.reload is not None
    traceback = child.boot_error.traceback if child.boot_error is not None else ""
    ended = Reloaded(view.generation, f"the new code does not boot, the old goes on serving: {cause}", traceback)
    view = replace(view, generation=view.reload.before, reload=None, reloaded=ended)
    return view, (Log("error", "reload failed: the old code goes on serving", {"cause": str(cause)}),)


def _is_canary(view: View, child: Child) -> bool:
    return child.slot.kind is ChildKind.WORKER and child.generation == view.generation


# Replaces living workers: those of old code (reload) and those that ask to be recycled.
#
# One at a time, and the successor comes first: a seat is opened above the target, and a worker is asked to leave only
# when the target and one more are ready. It takes no more tasks then, and has as long as it needs for those it runs.

NO_HURRY = 366 * 86400.0  # seconds


def renew(view: View, now: float) -> Step:
    """Do one step of the replacement; `scale.balance` opens the seat of the successor."""
    if view.stopping is not None:
        return view, ()
    retired: tuple[Command, ...] = ()
    waiting = list(outdated(view))
    if waiting and view.serving() > view.target:
        view, retired = retire(view, min(waiting, key=_least_busy), now)
    view, finished = (view, ()) if any(outdated(view)) else finish(view)
    return view, (*retired, *finished)


def outdated(view: View, kind: ChildKind = ChildKind.WORKER) -> Iterator[Child]:
    """Workers that take tasks, or are about to, and should be replaced."""
    return (child for child in view.living(kind) if child.leaving is None and _why(view, child) is not None)


def _why(view: View, child: Child) -> Why | None:
    if child.generation < view.generation:
        return Why.RELOADED
    return Why.RECYCLED if child.recycle_reason else None


def _least_busy(child: Child) -> tuple[bool, bool, int, int]:
    """Sort key: workers that boot first, then those to be recycled (they may have stopped claiming), then the idle."""
    return child.ready_at is not None, not child.recycle_reason, len(child.running), child.slot.number


def retire(view: View, child: Child, now: float) -> Step:
    """Ask one worker to finish its tasks and leave."""
    why = _why(view, child)
    assert why is not None
    leaving, commands = stop_child.ask_worker(child, why, now + NO_HURRY, now + NO_HURRY)
    if why is Why.RECYCLED:
        commands = (*commands, Log.about(child, "info", "recycling", reason=child.recycle_reason))
    return seated(view, child.slot, leaving), commands
