"""Judges the supervisor that runs on this host by its own report."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.words import counted
from holdfast.core.worker_records import WorkerKind
from holdfastd.control.report import RunningInfo
from holdfastd.control.socket_protocol import DeathStatus, SupervisorStatus
from holdfastd.core.death import EXPECTED
from holdfastd.doctor.finding import Check, Finding

SILENT = 5.0  # seconds without a heartbeat
RECENT = 600.0  # seconds
MANY_DEATHS = 3

_SOCKET = Check("supervisor", "control socket")
_STATE = Check("supervisor", "state")
_QUARANTINE = Check("supervisor", "quarantine")
_DEATHS = Check("supervisor", "deaths")
_STORE = Check("supervisor", "store")


def judge(running: RunningInfo, *, version: str, store_url: str, now: float) -> Iterator[Finding]:
    """`version` and `store_url` (masked) are those of this command; `now` is Unix time."""
    if running.status is None:
        if running.absent:
            yield _SOCKET.note(running.reason)
        else:
            yield _SOCKET.problem(running.reason, "journalctl -u holdfast; or kill -QUIT it and start it again")
        return
    status = running.status
    yield _judge_version(status, version)
    yield from _judge_state(status)
    if status.quarantine.held_back:
        waiting = counted(status.quarantine.waiting, "suspect waits", "suspects wait")
        text = f"{waiting}; no quarantine worker is started: {status.quarantine.held_back}"
        yield _QUARANTINE.warning(text, "supervisor status; supervisor why TASK_ID explains each")
    yield _judge_deaths(status, now)
    if status.store.url != store_url:
        text = f"it uses {status.store.url}, but these settings name {store_url}"
        yield _STORE.warning(text, "give this command the settings of the service (--config, --redis-url, REDIS_URL)")


def _judge_version(status: SupervisorStatus, version: str) -> Finding:
    if status.version != version:
        text = f"it runs version {status.version}, but this command is version {version}"
        return _SOCKET.warning(text, "restart it: supervisor stop, then supervisor start")
    return _SOCKET.ok(f"version {status.version}, pid {status.pid}, {status.state}")


def _judge_state(status: SupervisorStatus) -> Iterator[Finding]:
    for word, cause in (("degraded", status.degraded), ("held back", status.breaker)):
        if cause:
            yield _STATE.problem(f"{word}: {cause}", "supervisor status; the log shows the first error")
    silent = [f"{process.kind} {process.slot}" for process in status.processes if process.silent > SILENT]
    if silent:
        yield _STATE.warning(f"silent: {', '.join(silent)}", "kill -USR1 their pids: they log their stacks")
    if status.state == "running" and status.ready < status.target:
        text = f"{status.ready} of {status.target} workers are ready"
        yield _STATE.warning(text, "supervisor status shows why the others died")
    elif not (status.degraded or status.breaker or silent):
        yield _STATE.ok(f"{status.ready} of {status.target} workers are ready")


def _judge_deaths(status: SupervisorStatus, now: float) -> Finding:
    recent = [death for death in status.deaths.recent if now - death.at < RECENT and death.cause not in EXPECTED]
    if len(recent) < MANY_DEATHS:
        return _DEATHS.ok(f"{status.deaths.total} since its start")
    last = recent[-1]
    kind = "quarantine worker" if last.kind == WorkerKind.QUARANTINE else last.kind
    text = f"{len(recent)} in the last {RECENT / 60:.0f} minutes; the last was a {kind}: {_cause(last)}"
    return _DEATHS.warning(text, "supervisor workers --deaths")


def _cause(death: DeathStatus) -> str:
    first = death.detail.partition("\n")[0]
    return f"{death.cause}: {first}" if first else death.cause
