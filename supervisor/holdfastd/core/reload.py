"""A reload: new workers import the handler anew, while the old ones serve until a first new one is ready.

That first one is the canary. If it cannot boot, the generation is given up and nobody who serves has noticed; once it
is ready, `turnover` replaces the others one by one.
"""

from __future__ import annotations

from dataclasses import replace

from holdfastd.core.commands import ReadSettings, Say
from holdfastd.core.death import Cause, Reason
from holdfastd.core.events import SettingsRead
from holdfastd.core.slots import Child, ChildKind
from holdfastd.core.view import Reload, Reloaded, Step, View

TRIES = 3  # deaths of canaries that did not say that they cannot boot: somebody may have killed them


def refusal(view: View) -> str:
    """Why nothing can be reloaded now, or empty."""
    if view.stopping is not None:
        return "the supervisor is draining: nothing is reloaded any more"
    if view.policy.preloaded:
        return "the handler is preloaded: restart to load new code"
    if ChildKind.WORKER not in view.reached:
        return "no worker has been ready yet: nothing serves that could be replaced"
    return ""


def asked(view: View) -> Step:
    """Have the settings read for a new generation, or say why not."""
    why_not = refusal(view)
    if why_not:
        return view, (Say("warning", "reload refused", {"why": why_not}),)
    generation = view.generations + 1
    return replace(view, generations=generation), (ReadSettings(generation, _needed(view)),)


def _needed(view: View) -> frozenset[int]:
    return frozenset({view.generation, view.reload.before if view.reload is not None else view.generation})


def begin(view: View, event: SettingsRead) -> Step:
    """Introduce a generation whose settings are fit. One that is still unproven is overtaken."""
    if event.error or refusal(view):
        return _refused(view, event)
    before = view.reload.before if view.reload is not None and not view.reload.proven else view.generation
    said = Say("info", "reloading", {"generation": event.generation})
    return replace(view, generation=event.generation, reload=Reload(before), shown=""), (said,)


def _refused(view: View, event: SettingsRead) -> Step:
    error = event.error or refusal(view)
    said = Say("error", "reload refused: everything stays as it is", {"why": error})
    return replace(view, reloaded=Reloaded(event.generation, error)), (said,)


def ready(view: View, child: Child) -> Step:
    """A worker is ready: the first of a new generation proves it."""
    if view.reload is None or view.reload.proven or not _is_canary(view, child):
        return view, ()
    said = Say("info", "the new code boots: the other workers are replaced", {"generation": view.generation})
    return replace(view, reload=replace(view.reload, proven=True)), (said,)


def never_ready(view: View, child: Child, cause: Cause) -> Step:
    """A worker has died before it was ready: if nobody has proved its generation, that may be the end of it."""
    if view.reload is None or view.reload.proven or not _is_canary(view, child) or cause.reason is Reason.REQUESTED:
        return view, ()
    deaths = view.reload.deaths + 1
    if cause.reason is Reason.BOOT_FAILURE or deaths >= TRIES:
        return _failed(view, child, cause)
    return replace(view, reload=replace(view.reload, deaths=deaths)), ()


def finish(view: View) -> Step:
    """Nobody of an earlier generation takes tasks any more."""
    if view.reload is None or not view.reload.proven:
        return view, ()
    said = Say("info", "reloaded", {"generation": view.generation, "draining": draining(view)})
    return replace(view, reload=None, reloaded=Reloaded(view.generation)), (said,)


def draining(view: View) -> int:
    """Workers of earlier code that still finish their tasks."""
    return sum(bool(child.running) and child.generation < view.generation for child in view.claiming())


def _failed(view: View, child: Child, cause: Cause) -> Step:
    assert view.reload is not None
    traceback = child.boot_error.traceback if child.boot_error is not None else ""
    ended = Reloaded(view.generation, f"the new code does not boot, the old goes on serving: {cause}", traceback)
    view = replace(view, generation=view.reload.before, reload=None, reloaded=ended)
    return view, (Say("error", "reload failed: the old code goes on serving", {"cause": str(cause)}),)


def _is_canary(view: View, child: Child) -> bool:
    return child.slot.kind is ChildKind.WORKER and child.generation == view.generation
