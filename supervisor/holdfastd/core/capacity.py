"""Computes how many workers this host can hold, from measurements. Pure.

More workers than that would lead to forks that always fail, or to kills for memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.core.words import counted

MIB = 1 << 20
WORKER_MEMORY = 11 * MIB  # memory of an idle worker that it does not share
WORKER_DESCRIPTORS = 3  # of the parent's: channel, pidfd, and one while it is forked
RESERVED_DESCRIPTORS = 100  # clients of the control socket, and what the parent and its services need
RESERVED_PROCESSES = 8  # services, a successor during a reload


@dataclass(frozen=True, slots=True)
class Host:
    """Resources that this host has left; None means unlimited or unknown. `descriptors`: files that the parent may have
    open in all; `user_processes`, `group_processes`: processes that may still be started; `memory`: free bytes."""

    descriptors: int | None = None
    user_processes: int | None = None
    group_processes: int | None = None
    memory: int | None = None


BOUNDLESS = Host()


@dataclass(frozen=True, slots=True)
class CapacityBound:
    """The most workers that one resource allows; `why` names the resource, and what to do."""

    workers: int
    why: str


def refusal(host: Host, living: int, wanted: int) -> str:
    """One line that says why this host cannot hold `wanted` workers, or empty; `living` workers run already."""
    bound = tightest(host, living)
    if bound is None or wanted <= bound.workers:
        return ""
    least = max(0, bound.workers)
    return f"this host cannot hold {counted(wanted, 'worker')}, {least} at most: {bound.why}, or ask for fewer"


def tightest(host: Host, living: int) -> CapacityBound | None:
    """The bound of the scarcest resource of a host with `living` workers; None if nothing is limited."""
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
