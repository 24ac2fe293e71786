"""Handles a reload: new workers import the handler again, while the old ones serve until a new one is ready.

The first new worker is the canary. If the canary cannot boot, the new generation is dropped, and the old workers go on.
Once the canary is ready, `renew` replaces the other workers one by one.
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

TRIES = 3  # canaries that may die without a boot error, for example by a signal from outside, until the reload fails


def refusal(view: View) -> str:
    """The reason why a reload is not possible now; empty if a reload is possible."""
    if view.stopping is not None:
        return "the supervisor is draining: nothing is reloaded any more"
    if ChildKind.WORKER not in view.ready_kinds:
        return "no worker has been ready yet: there is nothing to replace"
    return ""


def asked(view: View) -> Step:
    """Start a reload: the parent reads the settings of a new generation of workers. If a reload is not possible, log
    why."""
    if why_not := refusal(view):
        return view, (Log("warning", "reload refused", {"reason": why_not}),)
    generation = view.generations + 1
    needed = frozenset({view.generation, view.reload.before if view.reload is not None else view.generation})
    return replace(view, generations=generation), (ReadSettings(generation, needed),)


def begin(view: View, event: SettingsRead) -> Step:
    """Start the new generation of workers whose settings were read, if these settings are valid. It replaces an earlier
    new generation of which no worker has been ready yet."""
    if error := event.error or refusal(view):
        log = Log("error", "reload refused: everything stays as it is", {"reason": error})
        return replace(view, reloaded=Reloaded(event.generation, error)), (log,)
    before = view.reload.before if view.reload is not None and not view.reload.proven else view.generation
    log = Log("info", "reloading", {"generation": event.generation})
    view = replace(view, generation=event.generation, reload=Reload(before), last_printed="")
    return replace(view, not_applied=event.not_applied), (log,)


def ready(view: View, child: Child) -> Step:
    """Handle a worker that is ready. The first one of a new generation proves that the new code works."""
    if view.reload is None or view.reload.proven or not _is_canary(view, child):
        return view, ()
    log = Log("info", "the new code boots: the other workers are replaced", {"generation": view.generation})
    return replace(view, reload=replace(view.reload, proven=True)), (log,)


def never_ready(view: View, child: Child, cause: Cause) -> Step:
    """Handle the death of a worker before it was ready. If its generation is not proven yet, the reload fails after a
    boot error, or after TRIES deaths."""
    if view.reload is None or view.reload.proven or not _is_canary(view, child) or cause.reason is Reason.REQUESTED:
        return view, ()
    deaths = view.reload.deaths + 1
    if cause.reason is Reason.BOOT_FAILURE or deaths >= TRIES:
        return _failed(view, child, cause)
    return replace(view, reload=replace(view.reload, deaths=deaths)), ()


def finish(view: View) -> Step:
    """End a reload whose new code has worked. This is called when no worker of an earlier generation takes tasks any
    more."""
    if view.reload is None or not view.reload.proven:
        return view, ()
    log = Log("info", "reloaded", {"generation": view.generation, "draining": draining(view)})
    return replace(view, reload=None, reloaded=Reloaded(view.generation)), (log,)


def draining(view: View) -> int:
    """The number of workers of earlier generations that still finish their tasks."""
    return sum(bool(child.running) and child.generation < view.generation for child in view.claiming())


def _failed(view: View, child: Child, cause: Cause) -> Step:
    assert view.reload is not None
    traceback = child.boot_error.traceback if child.boot_error is not None else ""
    ended = Reloaded(view.generation, f"the new code does not boot, the old goes on serving: {cause}", traceback)
    view = replace(view, generation=view.reload.before, reload=None, reloaded=ended)
    return view, (Log("error", "reload failed: the old code goes on serving", {"cause": str(cause)}),)


def _is_canary(view: View, child: Child) -> bool:
    return child.slot.kind is ChildKind.WORKER and child.generation == view.generation


# Replaces living workers: workers of old code after a reload, and workers that ask to be recycled.
#
# They are replaced one at a time, and the successor starts first. A seat is opened above the target. A worker is asked
# to leave only when one worker more than the target is ready. It then takes no more tasks, and has no deadline for the
# tasks that it runs.

NO_HURRY = 366 * 86400.0  # seconds


def renew(view: View, now: float) -> Step:
    """Do one step of the replacement: ask a worker to leave if its successor is ready. `scale.balance` makes the place
    for the successor."""
    if view.stopping is not None:
        return view, ()
    retired: tuple[Command, ...] = ()
    waiting = list(outdated(view))
    if waiting and view.serving() > view.target:
        view, retired = retire(view, min(waiting, key=_least_busy), now)
    view, finished = (view, ()) if any(outdated(view)) else finish(view)
    return view, (*retired, *finished)


def outdated(view: View, kind: ChildKind = ChildKind.WORKER) -> Iterator[Child]:
    """The workers that must be replaced and were not asked to leave yet."""
    return (child for child in view.living(kind) if child.leaving is None and _why(view, child) is not None)


def _why(view: View, child: Child) -> Why | None:
    if child.generation < view.generation:
        return Why.RELOADED
    return Why.RECYCLED if child.recycle_reason else None


def _least_busy(child: Child) -> tuple[bool, bool, int, int]:
    """Sort key: first workers that boot, then workers to be recycled (which may have stopped claiming), then workers
    with the fewest tasks."""
    return child.ready_at is not None, not child.recycle_reason, len(child.running), child.slot.number


def retire(view: View, child: Child, now: float) -> Step:
    """Ask one worker to finish its tasks and leave."""
    why = _why(view, child)
    assert why is not None
    leaving, commands = stop_child.ask_worker(child, why, now + NO_HURRY, now + NO_HURRY)
    if why is Why.RECYCLED:
        commands = (*commands, Log.about(child, "info", "recycling", reason=child.recycle_reason))
    return seated(view, child.slot, leaving), commands
