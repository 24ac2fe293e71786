"""The other users of the processors: a figure of a busy machine is a figure of its other work."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import psutil

T = TypeVar("T")

QUIET = 0.2  # cores
PATIENCE = 20  # seconds to wait for a quiet one


class _Used(NamedTuple):
    """Seconds: on the clock, of all processors, of this process and what it has waited for."""

    clock: float
    machine: float
    own: float


def quietly(measure: Callable[[], T]) -> tuple[T, float]:
    """Measure as soon as the machine is quiet, or after a while; and how many cores others used meanwhile.

    `measure` must have ended what it started, for its processor time to be known.
    """
    await_quiet()
    return others(measure)


def others(measure: Callable[[], T]) -> tuple[T, float]:
    """The answer of `measure`, and the number of cores that others used meanwhile."""
    before = _used()
    answer = measure()
    after = _used()
    foreign = (after.machine - before.machine) - (after.own - before.own)
    return answer, max(0.0, foreign / (after.clock - before.clock))


def await_quiet() -> None:
    """Wait for a second in which others leave the machine alone, or for as long as there is patience."""
    for _ in range(PATIENCE):
        if others(lambda: time.sleep(1.0))[1] < QUIET:
            return


def busy_seconds() -> float:
    """Of all processors, since the start of the machine."""
    times: Any = psutil.cpu_times()  # typed without what only Linux counts
    return times.user + times.nice + times.system + times.irq + times.softirq


def own_seconds() -> float:
    """Of this process and the children that it has waited for."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in own)


def _used() -> _Used:
    return _Used(time.monotonic(), busy_seconds(), own_seconds())


def description() -> dict[str, object]:
    return {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
