"""Seeing what room is left: for the supervisor that runs, else for one that this command would start."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import psutil

from holdfastd.core.capacity import Host
from holdfastd.parent.cgroup import groups
from holdfastd.parent.host import measure, raise_descriptors


def room(pid: int | None) -> Host:
    """`pid`: of the supervisor that runs, whose limits and control group may not be ours; None: there is none."""
    if pid is not None:
        try:
            return _room_of(pid)
        except (psutil.Error, OSError):  # it has ended, or it is somebody else's
            pass
    raise_descriptors()  # as a start does
    return measure()


def _room_of(pid: int) -> Host:
    files = psutil.Process(pid).rlimit(resource.RLIMIT_NOFILE)[0]
    host = measure(groups(membership=Path(f"/proc/{pid}/cgroup")))
    return replace(host, descriptors=None if files == resource.RLIM_INFINITY else files)
