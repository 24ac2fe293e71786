"""Checks the service that runs: its state, the deaths of its children, its version, and its unit in systemd."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.words import counted
from holdfast.core.worker_records import WorkerKind
from holdfastd.control.report import RunningInfo
from holdfastd.control.socket_protocol import DeathStatus, SupervisorStatus
from holdfastd.core.death import EXPECTED
from holdfastd.doctor.finding import Check, Finding

SILENT = 5.0  # seconds without a heartbeat after which a child is reported as silent
RECENT = 600.0  # seconds for which a death is reported
MANY_DEATHS = 3

_SOCKET = Check("supervisor", "control socket")
_STATE = Check("supervisor", "state")
_QUARANTINE = Check("supervisor", "quarantine")
_DEATHS = Check("supervisor", "deaths")
_STORE = Check("supervisor", "store")


def judge_running(running: RunningInfo, *, version: str, store_url: str, now: float) -> Iterator[Finding]:
    """Judge the answer of the supervisor. `version`: the version of this command. `store_url`: the store of the
    settings of this command, without the password. `now`: Unix seconds."""
    if running.status is None:
        if running.absent:
            yield _SOCKET.note(running.reason)
        else:
            yield _SOCKET.problem(running.reason, "journalctl -u holdfast; or kill -QUIT it and start it again")
        return
    status = running.status
    yield _judge_version(status, version)
    yield from judge_status(status, now)
    if status.store.url != store_url:
        text = f"the supervisor uses {status.store.url}, but these settings name {store_url}"
        yield _STORE.warning(text, "give this command the settings of the service (--config, --redis-url, REDIS_URL)")


def judge_status(status: SupervisorStatus, now: float) -> Iterator[Finding]:
    """Judge a supervisor and its children. `now`: Unix seconds."""
    yield from _judge_processes(status)
    if status.quarantine.held_back:
        waiting = counted(status.quarantine.waiting, "suspect waits", "suspects wait")
        text = f"{waiting}; no quarantine worker is started: {status.quarantine.held_back}"
        yield _QUARANTINE.warning(text, "supervisor status; supervisor why TASK_ID explains each")
    yield _judge_deaths(status, now)


def _judge_version(status: SupervisorStatus, version: str) -> Finding:
    if status.version != version:
        text = f"the supervisor runs version {status.version}, but this command is version {version}"
        return _SOCKET.warning(text, "restart the supervisor: supervisor stop, then supervisor start")
    return _SOCKET.ok(f"version {status.version}, pid {status.pid}, {status.state}")


def _judge_processes(status: SupervisorStatus) -> Iterator[Finding]:
    for word, cause in (("degraded", status.degraded), ("held back", status.breaker)):
        if cause:
            yield _STATE.problem(f"{word}: {cause}", "supervisor status; the log shows the first error")
    silent = [f"{process.kind} {process.slot}" for process in status.processes if process.silent > SILENT]
    if silent:
        yield _STATE.warning(
            f"silent: {', '.join(silent)}",
            "supervisor stacks shows where workers are; kill -USR1 PID logs this of any process",
        )
    if status.state == "running" and status.ready < status.target:
        text = f"{status.ready} of {status.target} workers are ready"
        yield _STATE.warning(text, "supervisor status shows why the other workers died")
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


# Checks the systemd unit: whether it is installed and enabled, and has the properties that a supervisor needs.

UNIT = "holdfast.service"
BOOTED = Path("/run/systemd/system")  # see sd_booted(3)
LOOK_TIMEOUT = 5.0  # seconds
STOP_MARGIN = 10.0  # seconds that the steward and the store need to end after the drain
PROPERTIES = (
    "LoadState", "UnitFileState", "ActiveState", "Result", "Type", "KillMode", "TimeoutStopUSec", "WatchdogUSec",
    "User", "DynamicUser",
)  # fmt: skip

_SECONDS = {
    "y": 365.25 * 86400, "month": 30.44 * 86400, "w": 604800.0, "d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0,
    "ms": 1e-3, "us": 1e-6,
}  # fmt: skip
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(month|min|ms|us|y|w|d|h|s)")


@dataclass(frozen=True, slots=True)
class UnitInfo:
    """A systemd unit. `properties`: as `systemctl show` prints them. `absent`: the reason why there are no properties;
    else empty."""

    name: str
    properties: Mapping[str, str]
    absent: str = ""


def look_at_unit(name: str = UNIT, systemctl: str = "systemctl", booted: Path = BOOTED) -> UnitInfo:
    """Ask systemd for the unit."""
    program = shutil.which(systemctl)
    if program is None or not booted.is_dir():
        return UnitInfo(name, {}, absent="this system was not booted with systemd")
    command = [program, "show", name, f"--property={','.join(PROPERTIES)}"]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=LOOK_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return UnitInfo(name, {}, absent=f"systemd does not answer within {LOOK_TIMEOUT:g} s")
    if done.returncode:
        return UnitInfo(name, {}, absent=f"systemctl show failed ({done.stderr.strip()[:80]})")
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return UnitInfo(name, {key: value for key, _, value in pairs})


def judge_unit(unit: UnitInfo, drain_timeout: float) -> Iterator[Finding]:
    check = Check("unit", unit.name)
    values = unit.properties
    if unit.absent:
        yield check.note(f"not checked: {unit.absent}")
        return
    if values.get("LoadState") == "not-found":
        yield check.note("not installed", "supervisor service install, to run the supervisor as a service")
        return
    if values.get("LoadState") != "loaded":
        yield check.problem(f"it cannot be loaded ({values.get('LoadState')})", f"systemd-analyze verify {unit.name}")
        return
    findings = [*_judge_state(check, values), *_judge_properties(check, values, drain_timeout)]
    yield from findings or [check.ok(f"installed, {values.get('UnitFileState')}, {values.get('ActiveState')}")]


def _judge_state(check: Check, values: Mapping[str, str]) -> Iterator[Finding]:
    if values.get("UnitFileState") not in ("enabled", "enabled-runtime", "static", "linked", "alias", "indirect"):
        text = f"the unit is {values.get('UnitFileState') or 'not enabled'}: the service does not start at boot"
        yield check.note(text, f"systemctl enable {check.look}")
    if values.get("ActiveState") == "failed":
        text = f"the service has failed ({values.get('Result', '')})"
        yield check.problem(text, f"journalctl -u {check.look}; then systemctl start {check.look}")


def _judge_properties(check: Check, values: Mapping[str, str], drain_timeout: float) -> Iterator[Finding]:
    if values.get("Type") not in ("notify", "notify-reload"):
        text = f"Type={values.get('Type')}: systemd does not learn when the service is ready or drains"
        yield check.warning(text, "set Type=notify")
    if values.get("KillMode") != "mixed":
        text = f"KillMode={values.get('KillMode')}: on a stop systemd signals the workers as well as their parent"
        yield check.warning(text, "set KillMode=mixed")
    if span(values.get("TimeoutStopUSec", "infinity")) < drain_timeout + STOP_MARGIN:
        text = (
            f"TimeoutStopSec={values['TimeoutStopUSec']} is too short for a drain ({drain_timeout:g} s) and "
            f"{STOP_MARGIN:g} s to end"
        )
        yield check.warning(text, f"set TimeoutStopSec={drain_timeout + STOP_MARGIN:g} or more")
    if not span(values.get("WatchdogUSec", "0")):
        yield check.note("no WatchdogSec: a supervisor that hangs is not restarted", "set WatchdogSec=30")
    if values.get("User") in ("", "root", None) and values.get("DynamicUser") != "yes":
        yield check.warning("the service runs as root", "set User= to a user for this service alone")


def span(text: str) -> float:
    """The seconds of a time span that systemd has printed, for example `1min 30s`, `infinity` or `0`."""
    if text == "infinity":
        return float("inf")
    return sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(text))
