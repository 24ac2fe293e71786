"""Asking systemd for the unit, where there is a systemd."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from holdfastd.doctor.unit import UnitInfo

UNIT = "holdfast.service"
BOOTED = Path("/run/systemd/system")  # see sd_booted(3)
WITHIN = 5.0  # seconds
PROPERTIES = (
    "LoadState", "UnitFileState", "ActiveState", "Result", "Type", "KillMode", "TimeoutStopUSec", "WatchdogUSec",
    "User", "DynamicUser",
)  # fmt: skip


def unit(name: str = UNIT, systemctl: str = "systemctl", booted: Path = BOOTED) -> UnitInfo:
    program = shutil.which(systemctl)
    if program is None or not booted.is_dir():
        return UnitInfo(name, {}, absent="no systemd runs here")
    command = [program, "show", name, f"--property={','.join(PROPERTIES)}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return UnitInfo(name, {}, absent=f"systemd does not answer within {WITHIN:g} s")
    if done.returncode:
        return UnitInfo(name, {}, absent=f"systemd cannot be asked ({done.stderr.strip()[:80]})")
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return UnitInfo(name, {key: value for key, _, value in pairs})
