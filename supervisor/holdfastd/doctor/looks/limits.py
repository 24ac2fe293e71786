"""Seeing the limits of a process: of the supervisor that runs, else of this command, which would start one."""

from __future__ import annotations

import resource
from pathlib import Path

import psutil

from holdfastd.doctor.limits import LimitFacts

_GROUPS = Path("/sys/fs/cgroup")
_NO_LIMIT = "max"


def limits(pid: int | None) -> LimitFacts:
    """Of the process with this id, where it may be looked at; None: of this one."""
    process = _process(pid)
    user = process.uids().real
    group = _group(process.pid)
    return LimitFacts(
        files=_soft(process, resource.RLIMIT_NOFILE),
        processes=None if user == 0 else _soft(process, resource.RLIMIT_NPROC),
        processes_now=_threads_of(user),
        group_processes=_least(group, "pids.max"),
        group_processes_now=_number(group / "pids.current") or 0 if group else 0,
        group_memory=_least(group, "memory.max"),
        running=process.pid == pid,
    )


def _process(pid: int | None) -> psutil.Process:
    if pid is not None:
        try:
            process = psutil.Process(pid)
            process.rlimit(resource.RLIMIT_NOFILE)
            return process
        except psutil.Error:  # it has ended, or it is somebody else's
            pass
    return psutil.Process()


def _soft(process: psutil.Process, limit: int) -> int | None:
    soft = process.rlimit(limit)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _threads_of(user: int) -> int:
    """The kernel counts threads against RLIMIT_NPROC."""
    found = 0
    for process in psutil.process_iter():
        try:
            if process.uids().real == user:
                found += process.num_threads()
        except psutil.Error:  # it ends while it is looked at
            continue
    return found


def _group(pid: int) -> Path | None:
    """The control group of version 2, or None."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text("ascii").splitlines()
    except OSError:
        return None
    found = [_GROUPS / line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    return found[0] if found and found[0].is_dir() else None


def _least(group: Path | None, name: str) -> int | None:
    """The tightest limit of the group and those above it."""
    if group is None:
        return None
    groups = [group, *(above for above in group.parents if above.is_relative_to(_GROUPS))]
    told = [value for one in groups if (value := _number(one / name)) is not None]
    return min(told, default=None)


def _number(path: Path) -> int | None:
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return None
    return None if text == _NO_LIMIT else int(text)
