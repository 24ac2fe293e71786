"""Decides what follows when a child dies before it is ready.

If no child of its kind was ever ready, the configuration is probably wrong: after a few attempts the service ends and
says why, as endless retries would hide it. Later such a death is handled like any other.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.exits import ChildExit, Exit
from holdfastd.core import drain
from holdfastd.core.commands import Command, Log, Print
from holdfastd.core.death import Cause, Reason
from holdfastd.core.slots import BootError, Child, ChildKind
from holdfastd.core.view import Step, View

TRIES = 3
# Signals that a process causes itself.
CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP"})
# Codes of a steward's first preflight that end the service.
FINAL = frozenset({ChildExit.UNAVAILABLE, ChildExit.BOOT_FAILED})

# Tasks run without these: they are started again and again.
NEVER_ENDS_SERVICE = frozenset({ChildKind.QUARANTINE, ChildKind.WEB})

_GIVES_UP = {
    ChildKind.WORKER: Exit.CONFIG,
    ChildKind.STEWARD: Exit.BUG,
    ChildKind.STORE: Exit.UNAVAILABLE,
    ChildKind.WATCHER: Exit.CONFIG,
}


def never_ready(view: View, child: Child, cause: Cause, now: float) -> Step:
    """A child has died before it was ready: print its error, and end the service where another attempt cannot help."""
    view, shown = _print(view, child)
    if child.slot.kind in NEVER_ENDS_SERVICE:
        return view, shown
    if _ever_served(view, child.slot.kind) or view.stopping is not None or not _counts(child, cause):
        return view, shown
    if child.slot.kind is ChildKind.STEWARD and child.boot_error is not None and child.boot_error.code in FINAL:
        view, ended = drain.begin_at_once(view, now, child.boot_error.code)
        return view, (*shown, *ended)
    view, ended = _count(view, child, cause, now)
    return view, (*shown, *ended)


def has_served(view: View, child: Child) -> bool:
    """True if the child was useful. A store accepts connections while it still loads its data, so a store counts only
    once a steward was ready."""
    return _ever_served(view, ChildKind.STORE) if child.slot.kind is ChildKind.STORE else child.ready_at is not None


def _ever_served(view: View, kind: ChildKind) -> bool:
    """True if a child of this kind was ever ready; for a store: if a steward was ready, as its preflight has checked
    the store."""
    return (ChildKind.STEWARD if kind is ChildKind.STORE else kind) in view.ready_kinds


def is_repeated_failure(view: View, child: Child) -> bool:
    """True if its error was printed already and no child of its kind was ever ready."""
    error = child.boot_error
    return error is not None and not _ever_served(view, child.slot.kind) and _text(error) == view.last_printed


def _counts(child: Child, cause: Cause) -> bool:
    """True if this death counts as a failed start. For a worker: its own errors, exits and crashes; for services: any
    death."""
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
    fields = {} if child.boot_error is not None else {"cause": str(cause)}  # its own error has been printed
    log = Log("error", f"the {kind} could not be started {TRIES} times: the supervisor ends", fields)
    return view, (log, *ended)


def _print(view: View, child: Child) -> Step:
    """Print the child's own error, but not twice in a row: all workers that cannot import a handler have the same
    error."""
    error = child.boot_error
    if error is None:
        return view, ()
    text = _text(error)
    if text == view.last_printed:
        return view, ()
    commands: tuple[Command, ...] = (Print(text),)
    return replace(view, last_printed=text), commands


def _text(error: BootError) -> str:
    return f"{error.traceback.rstrip()}\n{error.error}" if error.traceback else error.error
