"""The room that is left for workers: files, processes and memory, by what a supervisor itself goes by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.core.plurals import counted
from holdfastd.core.capacity import MIB, WORKER_MEMORY, Host, refusal
from holdfastd.doctor.finding import Check, Finding

FOR_TASKS = 4  # times what idle workers need: with less there is little left for what handlers do


@dataclass(frozen=True, slots=True)
class Need:
    """What is to run: so many `workers`, of which some are `living`; `threads` that one may run its handler in."""

    workers: int
    living: int
    threads: int


def judge(host: Host, need: Need) -> Iterator[Finding]:
    """`host`: what is left of it beside the living ones."""
    look = Check("limits", f"room for --workers {need.workers}")
    if why_not := refusal(host, need.living, need.workers):
        found, _, fix = why_not.partition("; ")
        yield look.problem(found, fix)
        return
    yield look.ok(", ".join(_left(host)) or "no limit is known")
    yield from _judge_threads(host, need)
    yield from _judge_memory(host, need)


def _judge_threads(host: Host, need: Need) -> Iterator[Finding]:
    look = Check("limits", "room for threads")
    bounds = [left for left in (host.user_processes, host.group_processes) if left is not None]
    wanted = (need.workers - need.living) + need.workers * need.threads
    if need.threads and bounds and wanted > min(bounds):
        found = f"each worker runs its handler in up to {need.threads} threads; {min(bounds)} more can be started"
        yield look.warning(found, "raise TasksMax= or ulimit -u, or lower --concurrency")


def _judge_memory(host: Host, need: Need) -> Iterator[Finding]:
    look = Check("limits", "room for memory")
    idle = WORKER_MEMORY * (need.workers - need.living)
    if host.memory is not None and host.memory < FOR_TASKS * idle:
        found = f"{host.memory // MIB} MiB are left, and the workers alone need {idle // MIB} before any task runs"
        yield look.warning(found, "add memory (MemoryMax=), or run fewer workers")


def _left(host: Host) -> Iterator[str]:
    bounds = [left for left in (host.user_processes, host.group_processes) if left is not None]
    if host.descriptors is not None:
        yield f"{counted(host.descriptors, 'file')} may be open"
    if bounds:
        yield counted(min(bounds), "more process", "more processes")
    if host.memory is not None:
        yield f"{host.memory // MIB} MiB of memory left"
