"""Room for the workers: open files, processes and memory, by the same limits that the supervisor observes."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from holdfast.core.words import counted
from holdfastd.core.capacity import MIB, WORKER_MEMORY, Host, refusal
from holdfastd.doctor.finding import Check, Finding
from holdfastd.parent.host import groups, measure, raise_descriptors

FOR_TASKS = 4  # times the need of idle workers: less leaves little memory for the handlers


@dataclass(frozen=True, slots=True)
class Need:
    """The `workers` to run, of which some are already `living`; `threads` that each may use for its handler."""

    workers: int
    living: int
    threads: int


def look(pid: int | None) -> Host:
    """The room that is left: by the limits of the supervisor with this pid, or of this process if None runs."""
    if pid is not None:
        try:
            return _room_of(pid)
        except (psutil.Error, OSError):  # it has ended, or belongs to another user
            pass
    raise_descriptors()  # as a start does
    return measure()


def _room_of(pid: int) -> Host:
    files = psutil.Process(pid).rlimit(resource.RLIMIT_NOFILE)[0]
    host = measure(groups(membership=Path(f"/proc/{pid}/cgroup")))
    return replace(host, descriptors=None if files == resource.RLIM_INFINITY else files)


def judge(host: Host, need: Need) -> Iterator[Finding]:
    """`host`: the room that is left beside the living workers."""
    check = Check("limits", f"room for --workers {need.workers}")
    if why_not := refusal(host, need.living, need.workers):
        text, _, fix = why_not.partition("; ")
        yield check.problem(text, fix)
        return
    yield check.ok(", ".join(_left(host)) or "no limit is known")
    yield from _judge_threads(host, need)
    yield from _judge_memory(host, need)


def _judge_threads(host: Host, need: Need) -> Iterator[Finding]:
    check = Check("limits", "room for threads")
    bounds = [left for left in (host.user_processes, host.group_processes) if left is not None]
    wanted = (need.workers - need.living) + need.workers * need.threads
    if need.threads and bounds and wanted > min(bounds):
        text = f"each worker uses up to {need.threads} threads for its handler; only {min(bounds)} more can be started"
        yield check.warning(text, "raise TasksMax= or ulimit -u, or lower --concurrency")


def _judge_memory(host: Host, need: Need) -> Iterator[Finding]:
    check = Check("limits", "room for memory")
    idle = WORKER_MEMORY * (need.workers - need.living)
    if host.memory is not None and host.memory < FOR_TASKS * idle:
        text = f"{host.memory // MIB} MiB are left; idle workers alone need {idle // MIB} MiB"
        yield check.warning(text, "add memory (MemoryMax=), or run fewer workers")


def _left(host: Host) -> Iterator[str]:
    bounds = [left for left in (host.user_processes, host.group_processes) if left is not None]
    if host.descriptors is not None:
        yield f"{counted(host.descriptors, 'file')} may be open"
    if bounds:
        yield counted(min(bounds), "more process", "more processes")
    if host.memory is not None:
        yield f"{host.memory // MIB} MiB of memory left"
