"""Handles the events of a child: it was forked, sent a message, was stopped, or has exited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.core.words import counted
from holdfast.exits import ChildExit, Exit
from holdfast.ipc import channel
from holdfast.ipc.channel import Acknowledged, Changed, FromChild, Left, SuspectsWaiting
from holdfastd.core import death, drain, hang, loader_decisions, notify_steward, quarantine, reload, restart
from holdfastd.core.commands import Command, Log, Print
from holdfastd.core.death import Cause, Reason
from holdfastd.core.parent_events import ChildStopped, Exited, Forked, ForkFailed, MessageReceived, StoreOpened
from holdfastd.core.slots import CLAIMING, GIVEN_UP, STORE, BootError, Child, ChildKind, Forking
from holdfastd.core.view import RECENT, Burst, Death, Step, View, known, removed, seated

# Decides what follows if a child dies before it is ready.
#
# If no child of its kind was ever ready, the configuration is probably wrong. Then the service ends after a few
# attempts and prints the error, because endless retries would hide it. Once a child of its kind was ready, such a death
# is handled like any other.

TRIES = 3
# Signals of crashes, which the code of a process causes itself.
CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP"})
# Exit statuses of a steward's first preflight that end the service.
FINAL = frozenset({ChildExit.UNAVAILABLE, ChildExit.BOOT_FAILED})

# Tasks run without these children, so the service does not end because of them. They are started again and again.
NEVER_ENDS_SERVICE = frozenset({ChildKind.QUARANTINE, ChildKind.WEB})

_GIVES_UP = {
    ChildKind.WORKER: Exit.CONFIG,
    ChildKind.STEWARD: Exit.BUG,
    ChildKind.STORE: Exit.UNAVAILABLE,
    ChildKind.WATCHER: Exit.CONFIG,
}


def never_ready(view: View, child: Child, cause: Cause, now: float) -> Step:
    """Handle the death of a child before it was ready. Print its error, and end the service if another attempt cannot
    help."""
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
    """True if the child was ready and useful. A store accepts connections while it still loads its data. So a store
    counts as useful only once a steward was ready."""
    return _ever_served(view, ChildKind.STORE) if child.slot.kind is ChildKind.STORE else child.ready_at is not None


def _ever_served(view: View, kind: ChildKind) -> bool:
    """True if a child of this kind was ever ready. For the store: if a steward was ever ready, because the steward's
    preflight checks the store."""
    return (ChildKind.STEWARD if kind is ChildKind.STORE else kind) in view.ready_kinds


def is_repeated_failure(view: View, child: Child) -> bool:
    """True if the child's error was printed already, for an earlier child, and no child of its kind was ever ready."""
    return not _ever_served(view, child.slot.kind) and bool(child.boot_text) and child.boot_text == view.last_printed


def _counts(child: Child, cause: Cause) -> bool:
    """True if this death counts as a failed start. The death of a service process always counts. The death of a worker
    counts if its cause was a boot error, an exit or a crash of its own."""
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
    fields = {} if child.boot_error is not None else {"cause": str(cause)}  # a boot error has been printed already
    log = Log("error", f"the {kind} could not be started {TRIES} times: the supervisor ends", fields)
    return view, (log, *ended)


def _print(view: View, child: Child) -> Step:
    """Print the child's boot error, but not twice in a row. If a handler cannot be imported, all workers have the same
    error."""
    if child.boot_text in {"", view.last_printed}:
        return view, ()
    return replace(view, last_printed=child.boot_text), (Print(child.boot_text),)


# Ends a service that was started with --burst when no task is left to run.
#
# The lanes must be empty at two successive checks, and a worker must have been ready. Otherwise a service whose handler
# cannot be imported would end as if its work were done.

LOOKS = 2


def lanes_counted(view: View, message: Left, now: float) -> Step:
    """Handle the steward's report of how many tasks are left in the lanes of this pool."""
    burst = view.burst or Burst(message.ended)
    burst = replace(burst, empty=0 if message.left else burst.empty + 1)
    view = replace(view, burst=burst)
    if burst.empty < LOOKS or ChildKind.WORKER not in view.ready_kinds:
        return view, ()
    return drain.begin(view, now, closing_line=closing_line(burst, message))


def closing_line(burst: Burst, message: Left) -> str:
    """The last line that `start --burst` prints. It says how many tasks have ended, by state, and how many stay for
    later."""
    grown = {state: total - burst.before.get(state, 0) for state, total in message.ended.items()}
    ended = {state: count for state, count in grown.items() if count > 0} or {"completed": 0}
    start = "nothing more can run now" if message.delayed or message.unserved else "nothing is left"
    line = f"{start}: " + ", ".join(f"{count} {state}" for state, count in ended.items())
    if message.delayed and message.due_in is not None:
        line += f"; {_stay(message.delayed)} delayed, the next is due in {message.due_in:.0f} s"
    if message.unserved:
        line += f"; {_stay(message.unserved)} for handlers that no live worker has: supervisor doctor names them"
    return line


def _stay(tasks: int) -> str:
    return counted(tasks, "task stays", "tasks stay")


# Messages that only these kinds of children may send. A worker runs user code, which could write to the channel.
_SENDERS: Mapping[type[FromChild], frozenset[ChildKind]] = {
    channel.Drained: CLAIMING,
    Acknowledged: frozenset({ChildKind.STEWARD}),
    Left: frozenset({ChildKind.STEWARD}),
    SuspectsWaiting: frozenset({ChildKind.STEWARD}),
    Changed: frozenset({ChildKind.WATCHER}),
}


def forked(view: View, event: Forked, now: float) -> Step:
    seat = view.seats[event.slot]
    assert isinstance(seat, Forking)
    child = Child(event.slot, event.incarnation, event.pid, now, now, seat.record, seat.generation)
    return seated(view, event.slot, child), notify_steward.child_forked(view, child)


def fork_failed(view: View, event: ForkFailed, now: float) -> Step:
    seat = view.seats[event.slot]
    assert isinstance(seat, Forking)
    view = quarantine.failed(view, event.slot, f"cannot fork: {event.error}")
    vacant = restart.after_failed_fork(seat.record, event.jitter, now)
    wait = {"slot": str(event.slot), "error": event.error, "again_in": round(vacant.due - now, 1)}
    return seated(view, event.slot, vacant), (Log("error", "cannot fork", wait),)


def message_received(view: View, event: MessageReceived, now: float) -> Step:
    child = known(view, event.slot, event.incarnation)
    if child is None:
        return view, ()
    senders = _SENDERS.get(type(event.message))
    if senders is not None and child.slot.kind not in senders:
        words = "a message that no child of this kind sends was ignored"
        return view, (Log.about(child, "warning", words, kind=type(event.message).__name__),)
    child = replace(child, last_message_at=now, dumped=False, sigstopped_at=None)
    return _read(seated(view, child.slot, child), child, event.message, now)


def _read(view: View, child: Child, message: FromChild, now: float) -> Step:
    match message:
        case channel.Ready(served=served, more=more):
            return ready(view, replace(child, served=tuple(served), served_more=more), now)
        case channel.Beat(running=running, settled=settled, degraded=degraded, recycle_reason=why):
            view = quarantine.task_started(view, child, running)
            child = replace(child, running=tuple(running), settled=settled, degraded=degraded, recycle_reason=why)
            return seated(view, child.slot, child), ()
        case channel.BootFailed(code=code, error=error, traceback=traceback):
            failed = replace(child, boot_error=BootError(code, error, traceback))
            return (view, ()) if has_served(view, child) else (seated(view, child.slot, failed), ())
        case channel.Drained(released=released, held=held):
            view = replace(view, cut_off=view.cut_off + (released if view.stopping else 0))
            return seated(view, child.slot, replace(child, drained=True, held=held, running=())), ()
        case Acknowledged() | Changed() | Left() | SuspectsWaiting():
            return _read_service(view, message, now)


def _read_service(view: View, message: Acknowledged | Changed | Left | SuspectsWaiting, now: float) -> Step:
    """Handle a message of the steward or the watcher."""
    match message:
        case Acknowledged():
            return notify_steward.acknowledged(view, message)
        case Changed(paths=paths):
            view, commands = reload.asked(view)
            return view, (Log("info", "files changed", {"paths": paths}), *commands)
        case Left():
            return lanes_counted(view, message, now)
        case SuspectsWaiting():
            return quarantine.suspects_counted(view, message, now), ()


def store_opened(view: View, _: StoreOpened, now: float) -> Step:
    store = view.child(STORE)
    return (view, ()) if store is None else ready(view, store, now)


def ready(view: View, child: Child, now: float) -> Step:
    if child.ready_at is not None:
        return view, ()
    view = seated(view, child.slot, replace(child, ready_at=now, last_message_at=now))
    view, proved = reload.ready(replace(view, ready_kinds=view.ready_kinds | {child.slot.kind}), child)
    return view, (Log.about(child, "info", "ready", after=round(now - child.born, 3)), *proved)


def child_stopped(view: View, event: ChildStopped, now: float) -> Step:
    child = known(view, event.slot, event.incarnation)
    if child is None:
        return view, ()
    child, commands = hang.continue_stopped(child, now)
    return seated(view, event.slot, child), commands


def exited(view: View, event: Exited, now: float) -> Step:
    child = known(view, event.slot, event.incarnation)
    if child is None:
        return view, ()
    cause = death.classify(child, event.status, event.out_of_memory)
    young = restart.is_young(child, cause, now)
    is_repeated = is_repeated_failure(view, child) or loader_decisions.has_failed(child)
    reported = _report(child, cause, now, is_repeated=is_repeated)
    view = quarantine.failed(view, child.slot, str(cause)) if young else view
    view = _vacate(_record(view, child, cause, event, now), child, young, event.jitter, now)
    lost = 0 if view.stopping is None or child.slot.kind not in CLAIMING else drain.cut_off(child)
    view, sent = notify_steward.child_died(replace(view, cut_off=view.cut_off + lost), child, cause, lost, now)
    view, counted = _consequences(view, child, cause, young, event.jitter, now)
    return view, (*reported, *sent, *counted)


def _vacate(view: View, child: Child, young: bool, jitter: float, now: float) -> View:
    """Free the place (seat) of a dead child for a successor. If the child needs no successor, remove the place."""
    given_up = child.leaving is not None and child.leaving.why in GIVEN_UP
    if given_up or loader_decisions.has_failed(child) or not drain.keeps(view, child.slot):
        return removed(view, child.slot)
    return seated(view, child.slot, restart.vacated(child, young, jitter, now))


def _consequences(view: View, child: Child, cause: Cause, young: bool, jitter: float, now: float) -> Step:
    counted: tuple[Command, ...] = ()
    if young and child.slot.kind is ChildKind.WORKER and view.stopping is None:
        view, counted = restart.young_death(view, child, str(cause), jitter, now)
    if loader_decisions.has_failed(child):
        return loader_decisions.failed(view, child, cause)
    if has_served(view, child) or child.slot.kind is ChildKind.LOADER:
        return view, counted
    view, ended = never_ready(view, child, cause, now)
    view, failed = reload.never_ready(view, child, cause)
    return view, (*counted, *ended, *failed)


def _record(view: View, child: Child, cause: Cause, event: Exited, now: float) -> View:
    """Record a death in the history. Deaths that the parent has ordered are left out. The history has a limited length,
    and a reload orders so many deaths that all others would be pushed out."""
    if cause.reason is Reason.REQUESTED and event.status == 0:
        return view
    deaths = (*view.deaths, Death(now, child, cause, event.status, event.peak_bytes))[-RECENT:]
    of_cause = (str(child.slot.kind), str(cause.reason))
    causes = {**view.death_causes, of_cause: view.death_causes.get(of_cause, 0) + 1}
    return replace(view, death_count=view.death_count + 1, death_causes=causes, deaths=deaths)


def _report(child: Child, cause: Cause, now: float, *, is_repeated: bool) -> tuple[Command, ...]:
    told = {"cause": str(cause), "lived": round(now - child.born, 2), "running": list(child.running)}
    if cause.ordered:
        return (Log.about(child, "info", "ended as ordered", **told),)
    return (Log.about(child, "debug" if is_repeated else "error", "died", **told),)
