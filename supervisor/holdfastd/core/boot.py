"""What a child that cannot boot means.

Before anybody was ever ready it means that the service cannot: what the operator configured is wrong, and trying for
ever would hide it. Later it is a death like others, as it did work once.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.exits import ChildExit, Exit
from holdfastd.core import drain
from holdfastd.core.commands import Command, Say, Show
from holdfastd.core.death import Cause, Reason
from holdfastd.core.slots import BootError, Child, ChildKind
from holdfastd.core.view import Step, View

TRIES = 3
CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP"})  # a process's own doing
FINAL = frozenset({ChildExit.UNAVAILABLE, ChildExit.BOOT_FAILED})  # a steward's first preflight that says these ends it

_GIVES_UP = {
    ChildKind.WORKER: Exit.CONFIG,
    ChildKind.STEWARD: Exit.BUG,
    ChildKind.STORE: Exit.UNAVAILABLE,
    ChildKind.WATCHER: Exit.CONFIG,
}


def never_ready(view: View, child: Child, cause: Cause, now: float) -> Step:
    """A child has died before it was ready: show why, and end the service where trying again cannot help."""
    view, shown = _show(view, child)
    if child.slot.kind is ChildKind.QUARANTINE:
        return view, shown
    if _ever_served(view, child.slot.kind) or view.stopping is not None or not _counts(child, cause):
        return view, shown
    if child.slot.kind is ChildKind.STEWARD and child.boot_error is not None and child.boot_error.code in FINAL:
        view, ended = drain.begin_at_once(view, now, child.boot_error.code)
        return view, (*shown, *ended)
    view, ended = _count(view, child, cause, now)
    return view, (*shown, *ended)


def has_served(view: View, child: Child) -> bool:
    """Whether it was of use. A store accepts connections while it still loads its data, so that alone says nothing."""
    return _ever_served(view, ChildKind.STORE) if child.slot.kind is ChildKind.STORE else child.ready_at is not None


def _ever_served(view: View, kind: ChildKind) -> bool:
    """Whether one of this kind was ready; of stores, whether a steward has found one fit."""
    return (ChildKind.STEWARD if kind is ChildKind.STORE else kind) in view.reached


def is_old_news(view: View, child: Child) -> bool:
    """Whether its end tells nothing new: none of its kind was ever ready, and it says what was shown before."""
    error = child.boot_error
    return error is not None and not _ever_served(view, child.slot.kind) and _text(error) == view.shown


def _counts(child: Child, cause: Cause) -> bool:
    """Of a worker only what it does itself: an error, an exit, a crash. Of those it depends on, any death."""
    if child.slot.kind is not ChildKind.WORKER or cause.reason in {Reason.BOOT_FAILURE, Reason.EXIT}:
        return True
    return cause.reason is Reason.SIGNAL and cause.detail in CRASHES


def _count(view: View, child: Child, cause: Cause, now: float) -> Step:
    kind = child.slot.kind
    failures = view.boot_failures.get(kind, 0) + 1
    view = replace(view, boot_failures={**view.boot_failures, kind: failures})
    if failures < TRIES:
        return view, ()
    view, ended = drain.begin_at_once(view, now, _GIVES_UP[kind])
    fields = {} if child.boot_error is not None else {"cause": str(cause)}  # what it said itself has been shown
    said = Say("error", f"the {kind} could not be started {TRIES} times: giving up", fields)
    return view, (said, *ended)


def _show(view: View, child: Child) -> Step:
    """The child's own words, once: eight workers that cannot import a handler have one thing to say."""
    error = child.boot_error
    if error is None:
        return view, ()
    text = _text(error)
    if text == view.shown:
        return view, ()
    commands: tuple[Command, ...] = (Show(text),)
    return replace(view, shown=text), commands


def _text(error: BootError) -> str:
    return f"{error.traceback.rstrip()}\n{error.error}" if error.traceback else error.error
