"""Computes how many workers this host can hold, from measurements, without I/O.

With more workers than this number, forks would fail, or the kernel would kill processes for lack of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.core.words import counted

MIB = 1 << 20
WORKER_MEMORY = 11 * MIB  # memory of an idle worker that it does not share
WORKER_DESCRIPTORS = 3  # that the parent needs for a worker: channel, pidfd, and one more during the fork
RESERVED_DESCRIPTORS = 100  # for clients of the control socket, the parent itself and its services
RESERVED_PROCESSES = 8  # for services, and a successor during a reload


@dataclass(frozen=True, slots=True)
class Host:
    """Resources that this host has left; None means unlimited or unknown. `descriptors`: how many files the parent may
    have open in all. `user_processes`, `group_processes`: how many processes this user, or the control group, may still
    start. `memory`: free bytes."""

    descriptors: int | None = None
    user_processes: int | None = None
    group_processes: int | None = None
    memory: int | None = None


BOUNDLESS = Host()


@dataclass(frozen=True, slots=True)
class CapacityBound:
    """The largest number of workers that one resource allows. `why` names the resource, and says what to do."""

    workers: int
    why: str


def refusal(host: Host, living: int, wanted: int) -> str:
    """One line that says why this host cannot run `wanted` workers; empty if it can. `living`: the number of workers
    that run already."""
    bound = tightest(host, living)
    if bound is None or wanted <= bound.workers:
        return ""
    least = max(0, bound.workers)
    return f"this host cannot hold {counted(wanted, 'worker')}, {least} at most: {bound.why}, or ask for fewer"


def tightest(host: Host, living: int) -> CapacityBound | None:
    """The smallest bound on the workers of a host on which `living` workers run; None if no resource is limited."""
    return min(_bounds(host, living), key=lambda bound: bound.workers, default=None)


def _bounds(host: Host, living: int) -> Iterator[CapacityBound]:
    if (files := host.descriptors) is not None:
        most = (files - RESERVED_DESCRIPTORS) // WORKER_DESCRIPTORS
        yield CapacityBound(
            most, f"a process may have {files} files open; raise the hard limit (ulimit -Hn, LimitNOFILE=)"
        )
    if (left := host.user_processes) is not None:
        yield _processes(
            left,
            living,
            f"this user may start {counted(left, 'more process', 'more processes')}; raise the limit (ulimit -u)",
        )
    if (left := host.group_processes) is not None:
        yield _processes(
            left,
            living,
            f"its control group may have {counted(left, 'more process', 'more processes')}; raise pids.max (TasksMax=)",
        )
    if (free := host.memory) is not None:
        why = f"{free // MIB} MiB of memory are left, a worker needs {WORKER_MEMORY // MIB}; add memory (MemoryMax=)"
        yield CapacityBound(living + free // WORKER_MEMORY, why)


def _processes(left: int, living: int, why: str) -> CapacityBound:
    return CapacityBound(living + left - RESERVED_PROCESSES, why)
