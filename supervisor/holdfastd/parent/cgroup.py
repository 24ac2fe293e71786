"""The control groups this process is in (version 2), from its own outwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def groups(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Iterator[Path]:
    """Their folders, those that are there. Limits hold in each."""
    try:
        lines = membership.read_text("ascii").splitlines()
    except OSError:
        return
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if own is None:
        return
    for folder in (root / own, *(root / own).parents):
        if folder.is_relative_to(root) and folder.is_dir():
            yield folder


def number(folder: Path, name: str) -> int | None:
    """A value of a group; None where there is none, or where it is `max`."""
    try:
        return int((folder / name).read_text("ascii"))
    except (OSError, ValueError):
        return None
