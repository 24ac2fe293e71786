"""The Debian package of `make deb`, installed, upgraded and removed under a real systemd: `make test-deb`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CANNOT_BE_HAD = 125

pytestmark = pytest.mark.slow


def test_the_package_serves_is_upgraded_and_removed() -> None:
    package = max((ROOT / "dist").glob("*.deb"), key=lambda file: file.stat().st_mtime, default=None)
    if package is None:
        pytest.skip("no .deb in dist/: make deb builds it")
    lab = Path(os.environ.get("SYSTEMD_LAB", ROOT.parent / "shared" / "systemd-lab" / "lab"))
    if not lab.exists():
        pytest.skip(f"no machine with systemd to test on: {lab} is not there; SYSTEMD_LAB names another")
    command = [lab, sys.executable, "-m", "tests.distribution.inside_deb", package]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
