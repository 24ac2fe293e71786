"""Builds the answer to AskStatus from the parent's view."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from holdfast.version import installed
from holdfast_config.trust import ServiceFolder
from holdfastd.control import socket_protocol as protocol
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import DeathStatus, ProcessStatus, StoreStatus, SupervisorStatus
from holdfastd.core import loader_decisions, quarantine
from holdfastd.core.slots import STEWARD, STORE, Child, ChildKind
from holdfastd.core.view import Death, View

NAMED = 8  # tasks that the report names for one death


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that a process uses. `cpu_percent`: of one core, since the last measurement (the first time: since
    the start of the process). `memory_bytes`: resident memory. `cpu_seconds`: since the start. None: not measured."""

    cpu_percent: float | None = None
    memory_bytes: int | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a report: `now` in monotonic seconds, `wall` as Unix time, and `began`, the monotonic start of the
    parent."""

    now: float
    wall: float
    began: float


def report(view: View, store: StoreStatus, usage: Mapping[int, Usage], moment: Moment) -> SupervisorStatus:
    """The answer to AskStatus. `usage`: by pid, as far as it could be measured. `store`: its status without the process
    id, which this function adds."""
    children = sorted(view.children(), key=_place)
    return SupervisorStatus(
        version=installed(),
        pid=os.getpid(),
        state=state(view),
        uptime=round(moment.now - moment.began, 3),
        target=view.target,
        ready=view.serving(),
        degraded=degraded(view),
        breaker=view.breaker.cause,
        generation=view.generation,
        reloading=view.reload is not None,
        store=_store(view, store),
        processes=[_process(child, usage.get(child.pid, Usage()), moment.now) for child in children],
        deaths=protocol.Deaths(view.death_count, [_death(death, moment) for death in view.deaths], _by_cause(view)),
        quarantine=protocol.QuarantineStatus(
            quarantine.waiting(view, moment.now), quarantine.most(view), quarantine.held_back(view, moment.now)
        ),
        not_preloaded=loader_decisions.why_not_shared(view),
        not_applied=list(view.not_applied),
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


def degraded(view: View) -> str:
    """The reason why the service is impaired, as one of its children has reported it; empty if it is not."""
    if reason := next((child.degraded for child in view.children() if child.degraded), ""):
        return reason
    for slot, kind in ((STORE, ChildKind.STORE), (STEWARD, ChildKind.STEWARD)):
        child = view.child(slot)
        if slot in view.seats and kind in view.ready_kinds and (child is None or child.ready_at is None):
            return f"the {kind} is being restarted"
    return ""


def _store(view: View, store: StoreStatus) -> StoreStatus:
    child = view.child(STORE)
    return msgspec.structs.replace(store, pid=child.pid if child else None)


def _place(child: Child) -> tuple[int, int]:
    return list(ChildKind).index(child.slot.kind), child.slot.number


def _process(child: Child, usage: Usage, now: float) -> ProcessStatus:
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
        silent=round(child.silence(now), 3),
        cpu_percent=usage.cpu_percent,
        memory_bytes=usage.memory_bytes,
        cpu_seconds=usage.cpu_seconds,
    )


def _death(death: Death, moment: Moment) -> DeathStatus:
    child = death.child
    return DeathStatus(
        at=round(moment.wall - (moment.now - death.at), 3),
        kind=str(child.slot.kind),
        slot=child.slot.number,
        pid=child.pid,
        incarnation=child.incarnation,
        cause=str(death.cause.reason),
        detail=death.cause.detail,
        status=death.status,
        running=list(child.running[:NAMED]),
        lived=round(death.at - child.born, 3),
        peak_bytes=death.peak_bytes,
    )


# Asks the supervisor that runs in a runtime folder for its status, or finds the reason why there is none.

ANSWER_TIMEOUT = 3.0  # seconds: a parent that works answers at once


@dataclass(frozen=True, slots=True)
class RunningInfo:
    """The answer about a runtime folder. `status`: the status of its supervisor; None if no supervisor answers.
    `reason`: why none answers. `absent`: True if no supervisor runs there."""

    status: SupervisorStatus | None
    reason: str = ""
    absent: bool = False


def look(folder: ServiceFolder) -> RunningInfo:
    """Ask the supervisor of this runtime folder for its status."""
    try:
        return RunningInfo(ask(folder.check(), protocol.AskStatus(), ANSWER_TIMEOUT))
    except OSError as error:
        return RunningInfo(None, f"{error.filename or folder.path}: {error.strerror}")
    except protocol.ControlError as error:
        return RunningInfo(None, str(error), absent=isinstance(error, protocol.NotRunningError))
