"""Finds the control groups (version 2) of this process, from its own to the root."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def groups(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Iterator[Path]:
    """The folders of these control groups that exist. The limits of each one apply."""
    try:
        lines = membership.read_text("utf-8", "surrogateescape").split("\n")  # a group may have any name
    except OSError:
        return
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if own is None:
        return
    for folder in (root / own, *(root / own).parents):
        if folder.is_relative_to(root) and folder.is_dir():
            yield folder


def number(folder: Path, name: str) -> int | None:
    """A value of a control group; None where the file is missing or says `max`."""
    try:
        return int((folder / name).read_text("ascii"))
    except (OSError, ValueError):
        return None
