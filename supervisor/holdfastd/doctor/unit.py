"""The systemd unit: whether it is there, and says what a supervisor relies on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holdfastd.doctor.finding import Check, Finding

STOP_MARGIN = 10.0  # seconds after the drain, for the steward and the store to end

_SECONDS = {
    "y": 365.25 * 86400, "month": 30.44 * 86400, "w": 604800.0, "d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0,
    "ms": 1e-3, "us": 1e-6,
}  # fmt: skip
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(month|min|ms|us|y|w|d|h|s)")


@dataclass(frozen=True, slots=True)
class UnitInfo:
    """`properties` as `systemctl show` prints them; `absent`: why there is nothing to be shown."""

    name: str
    properties: Mapping[str, str]
    absent: str = ""


def judge(unit: UnitInfo, drain_timeout: float) -> Iterator[Finding]:
    look = Check("unit", unit.name)
    told = unit.properties
    if unit.absent:
        yield look.note(f"{unit.absent}: this does not apply")
        return
    if told.get("LoadState") == "not-found":
        yield look.note("not installed", "supervisor service install, if it is to run as a service")
        return
    if told.get("LoadState") != "loaded":
        yield look.problem(f"it cannot be loaded ({told.get('LoadState')})", f"systemd-analyze verify {unit.name}")
        return
    findings = [*_judge_state(look, told), *_judge_settings(look, told, drain_timeout)]
    yield from findings or [look.ok(f"installed, {told.get('UnitFileState')}, {told.get('ActiveState')}")]


def _judge_state(look: Check, told: Mapping[str, str]) -> Iterator[Finding]:
    if told.get("UnitFileState") not in ("enabled", "enabled-runtime", "static", "linked", "alias", "indirect"):
        found = f"it is {told.get('UnitFileState') or 'not enabled'}: the machine starts without it"
        yield look.note(found, f"systemctl enable {look.look}")
    if told.get("ActiveState") == "failed":
        found = f"it has failed ({told.get('Result', '')})"
        yield look.problem(found, f"journalctl -u {look.look}; then systemctl start {look.look}")


def _judge_settings(look: Check, told: Mapping[str, str], drain_timeout: float) -> Iterator[Finding]:
    if told.get("Type") not in ("notify", "notify-reload"):
        found = f"Type={told.get('Type')}: systemd does not learn when it is ready, nor that it drains"
        yield look.warning(found, "set Type=notify")
    if told.get("KillMode") != "mixed":
        found = f"KillMode={told.get('KillMode')}: at a stop systemd signals the workers beside their parent"
        yield look.warning(found, "set KillMode=mixed")
    if span(told.get("TimeoutStopUSec", "infinity")) < drain_timeout + STOP_MARGIN:
        found = f"TimeoutStopSec={told['TimeoutStopUSec']} is shorter than a drain ({drain_timeout:g} s) and its end"
        yield look.warning(found, f"set TimeoutStopSec={drain_timeout + STOP_MARGIN:g} or more")
    if not span(told.get("WatchdogUSec", "0")):
        yield look.note("no WatchdogSec: a supervisor that hangs is not restarted", "set WatchdogSec=30")
    if told.get("User") in ("", "root", None) and told.get("DynamicUser") != "yes":
        yield look.warning("it runs as root", "set User= to a user of its own")


def span(text: str) -> float:
    """Seconds of a time span as systemd prints it: `1min 30s`, `infinity`, `0`."""
    if text == "infinity":
        return float("inf")
    return sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(text))
