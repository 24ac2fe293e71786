"""The signal to stop while tasks run: how many of them finish, and how long it takes.

The pool is started again and empties the queue: then it is known what was lost and what ran twice.
"""

from __future__ import annotations

import time
from collections import Counter

from bench.measures import Figures
from bench.records import BEGUN, ENDED
from bench.site import Site, Subject, open_site

TASKS = 24
TASK_SECONDS = 2.0
INTO = 0.6  # seconds from the first starts to the signal
ENDS_WITHIN = 30.0  # seconds
STUCK_AFTER = 40.0  # seconds without a record
EMPTY_WITHIN = 120.0  # seconds


def measure(subject: Subject) -> Figures:
    with open_site(subject) as site:
        site.start()
        start = site.records.count()
        with site.producer("slow", TASKS, TASK_SECONDS):  # its own end may take longer than a task
            site.wait(lambda: bool(site.since(start, BEGUN)), EMPTY_WITHIN, "a task starts")
            time.sleep(INTO)
            running = {run.number for run in site.since(start, BEGUN)} - {
                run.number for run in site.since(start, ENDED)
            }
            ended = _stop(site)
        finished = running & {run.number for run in site.since(start, ENDED)}
        site.tree.end()
        site.tree.start()
        _empty(site, start)
        return {**ended, "running": len(running), "finished": len(finished), **_counts(site, start)}


def _stop(site: Site) -> Figures:
    """The signal to what was started; seconds until no process is left, or none if some are left for too long."""
    at = time.monotonic()
    site.tree.signal_started(site.subject.system.drains)
    while time.monotonic() - at < ENDS_WITHIN:
        if not site.tree.alive():
            return {"exit_s": time.monotonic() - at}
        time.sleep(0.02)
    return {"exit_limit_s": ENDS_WITHIN}


def _empty(site: Site, start: int) -> None:
    """Until each task has ended, or nothing happens any more."""
    deadline, seen, changed = time.monotonic() + EMPTY_WITHIN, 0, time.monotonic()
    while time.monotonic() < min(deadline, changed + STUCK_AFTER):
        if len({run.number for run in site.since(start, ENDED)}) == TASKS:
            return
        if (count := site.records.count()) != seen:
            seen, changed = count, time.monotonic()
        time.sleep(0.05)


def _counts(site: Site, start: int) -> Figures:
    starts = Counter(run.number for run in site.since(start, BEGUN))
    ends = {run.number for run in site.since(start, ENDED)}
    return {"lost": TASKS - len(ends), "run_twice": sum(count > 1 for count in starts.values())}
