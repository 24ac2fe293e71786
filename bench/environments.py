"""An environment of its own for each peer, with the versions that bench/pins fixes, under a cache folder.

The folder's name has the hash of the pins: new pins make a new environment. BENCH_CACHE names another place for all.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from bench.pool import ROOT

PINS = ROOT / "bench" / "pins"
INSTALLED = "installed"  # a file: all pins are there


class NotInstalledError(Exception):
    """The environment of a peer could not be made."""


def environment(name: str) -> Path:
    """The folder with `bin`, made at first; without a name the environment that this program runs in."""
    if not name:
        return Path(sys.prefix)
    pins = PINS / f"{name}.txt"
    place = _cache() / f"{name}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:8]}"
    if not (place / INSTALLED).exists():
        _make(place, pins)
    return place


def versions(name: str) -> dict[str, str]:
    """The pins by package."""
    lines = (PINS / f"{name}.txt").read_text().split()
    return dict(line.split("==", 1) for line in lines)


def _cache() -> Path:
    chosen = os.environ.get("BENCH_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) / "holdfast-bench"


def _make(place: Path, pins: Path) -> None:
    print(f"installing {pins.stem} into {place}", flush=True)
    _call(sys.executable, "-m", "venv", "--clear", str(place))
    pip = (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _call(*pip, "--requirement", str(pins))
    (place / INSTALLED).touch()


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalledError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else command[0])
