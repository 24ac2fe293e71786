"""The systemd unit: installed, enabled, and with the properties that a supervisor relies on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfastd.doctor.finding import Check, Finding

UNIT = "holdfast.service"
BOOTED = Path("/run/systemd/system")  # see sd_booted(3)
LOOK_TIMEOUT = 5.0  # seconds
STOP_MARGIN = 10.0  # seconds after the drain, for the steward and the store to end
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
    """`properties` as `systemctl show` prints them; `absent`: the reason why there are none."""

    name: str
    properties: Mapping[str, str]
    absent: str = ""


def look(name: str = UNIT, systemctl: str = "systemctl", booted: Path = BOOTED) -> UnitInfo:
    """Asks systemd for the unit."""
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


def judge(unit: UnitInfo, drain_timeout: float) -> Iterator[Finding]:
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
        text = f"it is {values.get('UnitFileState') or 'not enabled'}: it does not start at boot"
        yield check.note(text, f"systemctl enable {check.look}")
    if values.get("ActiveState") == "failed":
        text = f"it has failed ({values.get('Result', '')})"
        yield check.problem(text, f"journalctl -u {check.look}; then systemctl start {check.look}")


def _judge_properties(check: Check, values: Mapping[str, str], drain_timeout: float) -> Iterator[Finding]:
    if values.get("Type") not in ("notify", "notify-reload"):
        text = f"Type={values.get('Type')}: systemd cannot see when it is ready or that it drains"
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
        yield check.warning("it runs as root", "set User= to a user of its own")


def span(text: str) -> float:
    """Seconds of a time span as systemd prints it: `1min 30s`, `infinity`, `0`."""
    if text == "infinity":
        return float("inf")
    return sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(text))
