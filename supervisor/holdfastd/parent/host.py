"""Measures how many workers this host still has resources for, and raises the limit on open files."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from holdfastd.core.capacity import Host

# Finds the control groups (version 2) of this process, from its own to the root.

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def groups(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Iterator[Path]:
    """The folders of this process's control groups, as far as they exist. The limits of all of them apply."""
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
    """The number in a file of a control group; None if the file is missing or says `max` (no limit)."""
    try:
        return int((folder / name).read_text("ascii"))
    except (OSError, ValueError):
        return None


MOST_DESCRIPTORS = 1 << 16  # enough for ten thousand workers; a much higher limit makes some programs slow

CACHES = ("inactive_file", "active_file")


def raise_descriptors() -> None:
    """Raise the soft limit on open files to the hard limit, at most to MOST_DESCRIPTORS."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def measure(folders: Iterable[Path] | None = None) -> Host:
    """The resources that are left now; `folders`: the control groups of this process."""
    inside = list(groups() if folders is None else folders)
    of_host = psutil.virtual_memory().available + psutil.swap_memory().free
    return Host(
        descriptors=_limit(resource.RLIMIT_NOFILE),
        user_processes=_user_processes(),
        group_processes=_least(_left(folder, "pids") for folder in inside),
        memory=_least([of_host, *(_left(folder, "memory", _caches(folder)) for folder in inside)]),
    )


def _limit(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft


def _user_processes() -> int | None:
    """How many processes this user may still start; None for root, which has no limit. The kernel counts threads, not
    processes, so this does, too."""
    limit = _limit(resource.RLIMIT_NPROC)
    user = os.getuid()
    if limit is None or user == 0:
        return None
    running = (process.info for process in psutil.process_iter(["uids", "num_threads"]))
    return max(
        0, limit - sum(info["num_threads"] or 1 for info in running if info["uids"] and info["uids"].real == user)
    )


def _left(folder: Path, kind: str, freed: int = 0) -> int | None:
    """How much of this resource a control group has left. `freed`: how much of the used amount the kernel frees when
    the resource becomes scarce."""
    most, now = number(folder, f"{kind}.max"), number(folder, f"{kind}.current")
    return None if most is None or now is None else max(0, most - now + freed)


def _caches(folder: Path) -> int:
    """Bytes of page cache in this control group, which the kernel frees before it kills for lack of memory."""
    try:
        lines = (folder / "memory.stat").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(value) for name, _, value in (line.partition(" ") for line in lines) if name in CACHES)


def _least(bounds: Iterable[int | None]) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)
