"""Asking systemd for the unit, where there is a systemd."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from holdfastd.doctor.unit import UnitFacts

UNIT = "holdfast.service"
BOOTED = Path("/run/systemd/system")  # see sd_booted(3)
WITHIN = 5.0  # seconds
PROPERTIES = (
    "LoadState", "UnitFileState", "ActiveState", "Result", "Type", "KillMode", "TimeoutStopUSec", "WatchdogUSec",
    "User", "DynamicUser",
)  # fmt: skip


def unit(name: str = UNIT, systemctl: str = "systemctl", booted: Path = BOOTED) -> UnitFacts:
    program = shutil.which(systemctl)
    if program is None or not booted.is_dir():
        return UnitFacts(name, {}, absent="no systemd runs here")
    command = [program, "show", name, f"--property={','.join(PROPERTIES)}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return UnitFacts(name, {}, absent=f"systemd does not answer within {WITHIN:g} s")
    if done.returncode:
        return UnitFacts(name, {}, absent=f"systemd cannot be asked ({done.stderr.strip()[:80]})")
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return UnitFacts(name, {key: value for key, _, value in pairs})
