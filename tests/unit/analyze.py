"""systemd's own judgement of a unit, without starting it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MOST_EXPOSED = 15  # tenths: 1.5

needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def verify(unit: Path) -> str:
    """The objections of systemd to the unit and its drop-ins; empty when nothing."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", unit], capture_output=True, text=True
    )
    return done.stderr if done.returncode == 0 else done.stderr or f"exit {done.returncode}"


def exposure(unit: Path) -> int:
    """In tenths; 0 is a service that can do nothing. systemd itself has to agree on which side of the bound it is."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", unit],
        capture_output=True,
        text=True,
    )
    (line,) = [line for line in done.stdout.splitlines() if "Overall exposure level" in line]
    tenths = round(float(line.split(": ")[1].split()[0]) * 10)
    assert (done.returncode == 0) == (tenths <= MOST_EXPOSED)
    return tenths
