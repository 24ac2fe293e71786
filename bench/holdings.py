"""Descriptors, threads and memory of a process, and a check that they do not grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from bench.pool import Pool
from bench.report import Target
from bench.waiting import until

MIB = 1 << 20
PATIENCE = 30.0  # seconds
# Descriptors that a flat process may have more: the parent a client's, the steward connections up to the bound of its
# pool. One lost with each worker would be hundreds.
MORE = {"parent": 2, "steward": 10}
GROWTH = 1.5  # MiB that a flat process may differ by: an allocator is not exact
COLUMNS = ("parent fds", "threads", "MiB", "steward fds", "threads", "MiB")


@dataclass(frozen=True, slots=True)
class Held:
    """`memory`: resident, in MiB."""

    descriptors: int
    threads: int
    memory: float


@dataclass(frozen=True, slots=True)
class Look:
    """At the parent and its steward, after so many `events`, with the whole pool ready."""

    events: int
    seconds: float
    parent: Held
    steward: Held

    @property
    def row(self) -> tuple[object, ...]:
        held = [(each.descriptors, each.threads, each.memory) for each in (self.parent, self.steward)]
        return (self.events, self.seconds, *held[0], *held[1])


def look(running: Pool, events: int, seconds: float) -> Look:
    """Once nobody is being replaced."""
    until(lambda: _is_whole(running), PATIENCE, "every worker is ready and no other lives")
    (steward,) = [process.pid for process in running.status().processes if process.kind == "steward"]
    return Look(events, seconds, _held(running.pid), _held(steward))


def targets(looks: Sequence[Look], settled: int) -> list[Target]:
    """Flat from look number `settled` on; what came before is warming up."""
    first, later = looks[settled], looks[settled + 1 :]
    bounds: list[Target] = []
    for name in ("parent", "steward"):
        before: Held = getattr(first, name)
        after: list[Held] = [getattr(sample, name) for sample in later]
        descriptors = max(held.descriptors for held in after) - before.descriptors
        bounds += [
            Target(f"descriptors more, {name}", descriptors, MORE[name]),
            Target(f"threads more, {name}", max(held.threads for held in after) - before.threads, 1),
            Target(f"MiB more at the end, {name}", after[-1].memory - before.memory, GROWTH),
        ]
    return bounds


def _held(pid: int) -> Held:
    process = psutil.Process(pid)
    return Held(process.num_fds(), process.num_threads(), process.memory_info().rss / MIB)


def _is_whole(running: Pool) -> bool:
    status = running.status()
    workers = [process for process in status.processes if process.kind == "worker"]
    return status.ready == status.target == len(workers)
