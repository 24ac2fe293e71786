"""kill -9 in the middle of a task: of the process that runs it, or of all processes, which are started again at once.

Seconds from the signal to the second start of the handler. Without a figure the task did not run again in time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from bench.measures import Figures
from bench.records import BEGUN
from bench.site import Site, Subject, open_site

TASK_SECONDS = 2.0
GROWN = 2.5  # seconds that workers have lived before the kill
INTO = 0.5  # seconds from the start of the task to the kill
STARTS_WITHIN = 20.0  # seconds
LIMIT = 30.0  # seconds


def measure(subject: Subject, limit: float = LIMIT) -> Figures:
    """Both kills, each on its own server."""
    return {
        **_figure("worker_killed", subject, _kill_worker, limit),
        **_figure("all_killed", subject, _kill_all, limit),
    }


def _figure(name: str, subject: Subject, kill: Callable[[Site, int], int], limit: float) -> Figures:
    with open_site(subject) as site:
        site.start()
        time.sleep(GROWN)
        start = site.records.count()
        site.produce("slow", 1, TASK_SECONDS)
        site.wait(lambda: bool(site.since(start, BEGUN)), STARTS_WITHIN, "the task starts")
        time.sleep(INTO)
        return _again(name, site, start, kill(site, site.since(start, BEGUN)[0].pid), limit)


def _again(name: str, site: Site, start: int, at_ns: int, limit: float) -> Figures:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if runs := [run for run in site.since(start, BEGUN) if run.at_ns > at_ns]:
            return {f"{name}_s": (runs[0].at_ns - at_ns) / 1e9}
        site.tree.restart_if_ended()
        time.sleep(0.005)
    print(f"{name}, {site.subject.title}: not again within {limit:.0f} s; the end of its log: {site.tail()}")
    return {f"{name}_limit_s": limit}


def _kill_worker(site: Site, pid: int) -> int:
    """When."""
    at_ns = time.monotonic_ns()
    os.kill(pid, signal.SIGKILL)
    return at_ns


def _kill_all(site: Site, pid: int) -> int:
    """The same; started again as soon as the processes that were started are gone."""
    site.tree.alive()
    at_ns = time.monotonic_ns()
    site.tree.kill()
    site.tree.start()
    return at_ns
