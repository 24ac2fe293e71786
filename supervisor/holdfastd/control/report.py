"""Builds the answer to AskStatus from the parent's view."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from holdfast.version import installed
from holdfast_config.trust import ServiceFolder
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import (
    AskStatus,
    ControlError,
    Deaths,
    DeathStatus,
    NotRunningError,
    ProcessStatus,
    QuarantineStatus,
    StoreStatus,
    SupervisorStatus,
)
from holdfastd.core import quarantine
from holdfastd.core.slots import STEWARD, STORE, Child, ChildKind
from holdfastd.core.view import Death, View


@dataclass(frozen=True, slots=True)
class Usage:
    """`cpu_percent` of one core since the last measurement (at first: since its start), `memory_bytes` resident;
    `cpu_seconds` since its start."""

    cpu_percent: float
    memory_bytes: int
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a report: monotonic `now`, the same instant as unix time, and the start of the parent."""

    now: float
    wall: float
    began: float


def report(view: View, store: StoreStatus, usage: Mapping[int, Usage], moment: Moment) -> SupervisorStatus:
    """The status; `usage` by pid, as far as it could be measured. The process id is added to `store`."""
    children = [seat for seat in view.seats.values() if isinstance(seat, Child)]
    return SupervisorStatus(
        version=installed(),
        pid=os.getpid(),
        state=state(view),
        uptime=round(moment.now - moment.began, 3),
        target=view.target,
        ready=ready(view),
        degraded=degraded(view),
        breaker=view.breaker.cause,
        generation=view.generation,
        reloading=view.reload is not None,
        store=_store(view, store),
        processes=[_process(child, usage.get(child.pid), moment.now) for child in sorted(children, key=_place)],
        deaths=Deaths(view.death_count, [_death(death, moment) for death in view.deaths], _by_cause(view)),
        quarantine=_quarantine(view, moment.now),
        not_preloaded=view.not_shared.why if view.not_shared else "",
    )


def _by_cause(view: View) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (kind, cause), number in view.death_causes.items():
        found.setdefault(kind, {})[cause] = number
    return found


def state(view: View) -> str:
    if view.stopping is not None:
        return "draining"
    return "running" if ChildKind.WORKER in view.ready_kinds else "starting"


def ready(view: View) -> int:
    """The number of workers that take tasks now."""
    return sum(child.ready_at is not None and child.leaving is None for child in view.living(ChildKind.WORKER))


def degraded(view: View) -> str:
    """The reason why the service is impaired, as a child reported it; empty if it is not."""
    reasons = [seat.degraded for seat in view.seats.values() if isinstance(seat, Child) and seat.degraded]
    if reasons:
        return reasons[0]
    for slot, kind in ((STORE, ChildKind.STORE), (STEWARD, ChildKind.STEWARD)):
        child = view.child(slot)
        if slot in view.seats and kind in view.ready_kinds and (child is None or child.ready_at is None):
            return f"the {kind} is being restarted"
    return ""


def _store(view: View, store: StoreStatus) -> StoreStatus:
    child = view.child(STORE)
    return msgspec.structs.replace(store, pid=child.pid if child else None)


def _quarantine(view: View, now: float) -> QuarantineStatus:
    return QuarantineStatus(
        waiting=quarantine.waiting(view, now),
        most=quarantine.most(view),
        held_back=quarantine.held_back(view, now),
    )


def _place(child: Child) -> tuple[int, int]:
    return list(ChildKind).index(child.slot.kind), child.slot.number


def _process(child: Child, usage: Usage | None, now: float) -> ProcessStatus:
    return ProcessStatus(
        kind=str(child.slot.kind),
        slot=child.slot.number,
        pid=child.pid,
        incarnation=child.incarnation,
        state=str(child.phase),
        uptime=round(now - child.born, 3),
        running=list(child.running),
        settled=child.settled,
        restarts=child.record.restarts,
        generation=child.generation,
        silent=0.0 if child.slot == STORE else round(now - child.last_message_at, 3),
        cpu_percent=usage.cpu_percent if usage else None,
        memory_bytes=usage.memory_bytes if usage else None,
        cpu_seconds=usage.cpu_seconds if usage else None,
    )


def _death(death: Death, moment: Moment) -> DeathStatus:
    at = round(moment.wall - (moment.now - death.at), 3)
    kind, number = death.slot
    return DeathStatus(
        at=at,
        kind=str(kind),
        slot=number,
        pid=death.pid,
        incarnation=death.incarnation,
        cause=death.cause,
        detail=death.detail,
        status=death.status,
        running=list(death.running),
        lived=round(death.lived, 3),
        peak_bytes=death.peak_bytes,
    )


# Asks the supervisor that runs in a runtime folder for its status, or finds the reason why there is none.

ANSWER_TIMEOUT = 3.0  # seconds: the parent answers at once


@dataclass(frozen=True, slots=True)
class RunningInfo:
    """The `status` of a supervisor that answers; else the reason why none does, and True if none runs (`absent`)."""

    status: SupervisorStatus | None
    reason: str = ""
    absent: bool = False


def look(folder: ServiceFolder) -> RunningInfo:
    """Asks the supervisor of a runtime folder for its status."""
    try:
        return RunningInfo(ask(folder.check(), AskStatus(), ANSWER_TIMEOUT))
    except NotRunningError as error:
        return RunningInfo(None, str(error), absent=True)
    except OSError as error:
        return RunningInfo(None, f"{error.filename or folder.path}: {error.strerror}")
    except ControlError as error:
        return RunningInfo(None, str(error))
