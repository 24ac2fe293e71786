"""The service under a real systemd: one boot of a throw-away machine, each scenario judged by itself.

SYSTEMD_LAB names the command that boots it and runs its arguments there as root, and that exits with 125 where there is
none to be had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.systemd.inside.__main__ import SCENARIOS

ROOT = Path(__file__).parents[2]
CANNOT_BE_HAD = 125
PATIENCE = 400

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reports() -> dict[str, Any]:
    lab = Path(os.environ.get("SYSTEMD_LAB", ROOT.parent / "shared" / "systemd-lab" / "lab"))
    if not lab.exists():
        pytest.skip(f"no machine with systemd to test on: {lab} is not there; SYSTEMD_LAB names another")
    if ROOT.is_relative_to("/tmp"):
        pytest.skip("the machine with systemd has a /tmp of its own: this checkout cannot be seen there")
    command = [lab, sys.executable, "-m", "tests.systemd.inside"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return {report["name"]: report for report in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_under_systemd(reports: dict[str, Any], scenario: str) -> None:
    assert not reports[scenario]["error"], reports[scenario]["error"]
