"""Handles the events of a child: forked, message received, stopped, exited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.ipc.channel import (
    Acknowledged,
    Beat,
    BootFailed,
    Changed,
    Drained,
    FromChild,
    Left,
    Ready,
    SuspectsWaiting,
)
from holdfastd.core import (
    boot_failures,
    burst,
    crash_breaker,
    death,
    drain,
    hang,
    loader,
    notify_steward,
    quarantine,
    reload,
    restart,
)
from holdfastd.core.commands import Command, Log
from holdfastd.core.death import Cause, Reason
from holdfastd.core.parent_events import ChildStopped, Exited, Forked, ForkFailed, MessageReceived, StoreOpened
from holdfastd.core.slots import CLAIMING, GIVEN_UP, STORE, BootError, Child, ChildKind, Forking
from holdfastd.core.view import NAMED, RECENT, Death, Step, View, known, removed, seated

# The messages that only these kinds of children send. Workers run the code of users, who could write to the channel.
_SENDERS: Mapping[type[FromChild], frozenset[ChildKind]] = {
    Drained: CLAIMING,
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
        fields = {"slot": str(child.slot), "pid": child.pid, "kind": type(event.message).__name__}
        return view, (Log("warning", "a message that no child of this kind sends was ignored", fields),)
    child = replace(child, last_message_at=now, dumped=False, sigstopped_at=None)
    return _read(seated(view, child.slot, child), child, event.message, now)


def _read(view: View, child: Child, message: FromChild, now: float) -> Step:
    match message:
        case Ready():
            return ready(view, child, now)
        case Beat(running=running, settled=settled, degraded=degraded, recycle_reason=recycle_reason):
            view = quarantine.task_started(view, child, running)
            child = replace(
                child, running=tuple(running), settled=settled, degraded=degraded, recycle_reason=recycle_reason
            )
            return seated(view, child.slot, child), ()
        case BootFailed(code=code, error=error, traceback=traceback):
            failed = replace(child, boot_error=BootError(code, error, traceback))
            return (view, ()) if boot_failures.has_served(view, child) else (seated(view, child.slot, failed), ())
        case Drained(released=released, held=held):
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
            return burst.lanes_counted(view, message, now)
        case SuspectsWaiting():
            return quarantine.suspects_counted(view, message, now), ()


def store_opened(view: View, _: StoreOpened, now: float) -> Step:
    store = view.child(STORE)
    return (view, ()) if store is None else ready(view, store, now)


def ready(view: View, child: Child, now: float) -> Step:
    if child.ready_at is not None:
        return view, ()
    view = seated(view, child.slot, replace(child, ready_at=now, last_message_at=now))
    fields = {"slot": str(child.slot), "pid": child.pid, "after": round(now - child.born, 3)}
    view, proved = reload.ready(replace(view, ready_kinds=view.ready_kinds | {child.slot.kind}), child)
    return view, (Log("info", "ready", fields), *proved)


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
    is_repeated = boot_failures.is_repeated_failure(view, child) or loader.has_failed(child)
    reported = _report(child, cause, now, is_repeated=is_repeated)
    view = quarantine.failed(view, child.slot, str(cause)) if young else view
    view = _vacate(_record(view, child, cause, event, now), child, young, event.jitter, now)
    lost = 0 if view.stopping is None or child.slot.kind not in CLAIMING else drain.cut_off(child)
    view, sent = notify_steward.child_died(replace(view, cut_off=view.cut_off + lost), child, cause, lost, now)
    view, counted = _consequences(view, child, cause, young, event.jitter, now)
    return view, (*reported, *sent, *counted)


def _vacate(view: View, child: Child, young: bool, jitter: float, now: float) -> View:
    """Remove the seat of a child that left for good; otherwise leave it vacant for its successor."""
    given_up = child.leaving is not None and child.leaving.why in GIVEN_UP
    if given_up or loader.has_failed(child) or not drain.keeps(view, child.slot):
        return removed(view, child.slot)
    return seated(view, child.slot, restart.vacated(child, young, jitter, now))


def _consequences(view: View, child: Child, cause: Cause, young: bool, jitter: float, now: float) -> Step:
    counted: tuple[Command, ...] = ()
    if young and child.slot.kind is ChildKind.WORKER and view.stopping is None:
        view, counted = crash_breaker.young_death(view, child, str(cause), jitter, now)
    if loader.has_failed(child):
        return loader.failed(view, child, cause)
    if boot_failures.has_served(view, child) or child.slot.kind is ChildKind.LOADER:
        return view, counted
    view, ended = boot_failures.never_ready(view, child, cause, now)
    view, failed = reload.never_ready(view, child, cause)
    return view, (*counted, *ended, *failed)


def _record(view: View, child: Child, cause: Cause, event: Exited, now: float) -> View:
    """Not of one that was asked to end and did: a reload would push the deaths that matter out of the list."""
    if cause.reason is Reason.REQUESTED and event.status == 0:
        return view
    death_of = Death(
        at=now,
        slot=child.slot,
        pid=child.pid,
        incarnation=child.incarnation,
        cause=str(cause.reason),
        detail=cause.detail,
        status=event.status,
        running=child.running[:NAMED],
        lived=now - child.born,
        peak_bytes=event.peak_bytes,
    )
    of_cause = (str(child.slot.kind), death_of.cause)
    causes = {**view.death_causes, of_cause: view.death_causes.get(of_cause, 0) + 1}
    return replace(
        view, death_count=view.death_count + 1, death_causes=causes, deaths=(*view.deaths, death_of)[-RECENT:]
    )


def _report(child: Child, cause: Cause, now: float, *, is_repeated: bool) -> tuple[Command, ...]:
    fields = {
        "slot": str(child.slot),
        "pid": child.pid,
        "cause": str(cause),
        "lived": round(now - child.born, 2),
        "running": list(child.running),
    }
    if cause.reason in death.EXPECTED:
        return (Log("info", "left", fields),)
    return (Log("debug" if is_repeated else "warning", "died", fields),)
