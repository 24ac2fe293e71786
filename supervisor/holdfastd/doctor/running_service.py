"""The supervisor that runs here, as it tells itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.core.plurals import counted
from holdfast.core.tasks import WorkerKind
from holdfastd.control.protocol import DeathStatus, SupervisorStatus
from holdfastd.core.death import EXPECTED
from holdfastd.doctor.finding import Check, Finding

QUIET = 5.0  # seconds without a word
RECENT = 600.0  # seconds
MANY_DEATHS = 3

_RUNS = Check("supervisor", "control socket")
_STATE = Check("supervisor", "state")
_QUARANTINE = Check("supervisor", "quarantine")
_DEATHS = Check("supervisor", "deaths")
_STORE = Check("supervisor", "store")


@dataclass(frozen=True, slots=True)
class RunningInfo:
    """`status` if one runs and answers, else `silent`: why not, and whether it is `absent`."""

    status: SupervisorStatus | None
    silent: str = ""
    absent: bool = False


def judge(running: RunningInfo, *, version: str, store_url: str, now: float) -> Iterator[Finding]:
    """`version` and `store_url` (masked) are ours, `now` is unix time."""
    if running.status is None:
        if running.absent:
            yield _RUNS.note(running.silent)
        else:
            yield _RUNS.problem(running.silent, "journalctl -u holdfast, or kill -QUIT it and start it again")
        return
    status = running.status
    if status.version != version:
        found = f"it is of version {status.version}, this command of {version}"
        yield _RUNS.warning(found, "restart it: supervisor stop, then supervisor start")
    else:
        yield _RUNS.ok(f"version {status.version}, pid {status.pid}, {status.state}")
    yield from _judge_state(status)
    if status.quarantine.held_back:
        waiting = counted(status.quarantine.waiting, "suspect waits", "suspects wait")
        found = f"{waiting}; no quarantine worker is started: {status.quarantine.held_back}"
        yield _QUARANTINE.warning(found, "supervisor status; supervisor why TASK_ID tells of each")
    yield from _judge_deaths(status, now)
    if status.store.url != store_url:
        found = f"it uses {status.store.url}, and these settings name {store_url}"
        yield _STORE.warning(found, "give this command the settings of the service (--config, --redis-url, REDIS_URL)")


def _judge_state(status: SupervisorStatus) -> Iterator[Finding]:
    for word, cause in (("degraded", status.degraded), ("held back", status.breaker)):
        if cause:
            yield _STATE.problem(f"{word}: {cause}", "supervisor status; the log has the first of it")
    quiet = [f"{one.kind} {one.slot}" for one in status.processes if one.silent > QUIET]
    if quiet:
        yield _STATE.warning(f"silent: {', '.join(quiet)}", "kill -USR1 them: they log what they are doing")
    if status.state == "running" and status.ready < status.target:
        found = f"{status.ready} of {status.target} workers are ready"
        yield _STATE.warning(found, "supervisor status shows what the others died of")
    elif not (status.degraded or status.breaker or quiet):
        yield _STATE.ok(f"{status.ready} of {status.target} workers are ready")


def _judge_deaths(status: SupervisorStatus, now: float) -> Iterator[Finding]:
    recent = [death for death in status.deaths.recent if now - death.at < RECENT and death.cause not in EXPECTED]
    if len(recent) >= MANY_DEATHS:
        last = recent[-1]
        kind = "quarantine worker" if last.kind == WorkerKind.QUARANTINE else last.kind
        found = f"{len(recent)} in the last {RECENT / 60:.0f} minutes, the last of a {kind}: {_cause(last)}"
        yield _DEATHS.warning(found, "supervisor workers --deaths")
    else:
        yield _DEATHS.ok(f"{status.deaths.total} since its start")


def _cause(death: DeathStatus) -> str:
    first = death.detail.partition("\n")[0]
    return f"{death.cause}: {first}" if first else death.cause
