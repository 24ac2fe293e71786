"""The signal to stop while tasks run: how many of them finish, and how long it takes.

The pool is started again and empties the queue: then it is known what was lost and what ran twice.
"""

from __future__ import annotations

import time
from collections import Counter

from bench.measures import Figures
from bench.records import ENDED, RAN
from bench.site import Site, Subject, site

TASKS = 24
TASK_SECONDS = 2.0
INTO = 0.6  # seconds from the first starts to the signal
ENDS_WITHIN = 30.0  # seconds
STUCK_AFTER = 15.0  # seconds without a record
EMPTY_WITHIN = 60.0  # seconds


def measure(subject: Subject) -> Figures:
    with site(subject) as one:
        one.start()
        start = one.records.count()
        one.produce("slow", TASKS, TASK_SECONDS)
        one.wait(lambda: one.records.count() > start, EMPTY_WITHIN, "a task starts")
        time.sleep(INTO)
        running = {run.number for run in one.since(start, RAN)} - {run.number for run in one.since(start, ENDED)}
        ended = _stop(one)
        finished = running & {run.number for run in one.since(start, ENDED)}
        one.tree.end()
        one.tree.start()
        _empty(one, start)
        return {**ended, "running": len(running), "finished": len(finished), **_counts(one, start)}


def _stop(one: Site) -> Figures:
    """The signal to what was started; seconds until no process is left, or none if some are left for too long."""
    at = time.monotonic()
    one.tree.signal_started(one.subject.system.drains)
    while time.monotonic() - at < ENDS_WITHIN:
        if not one.tree.alive():
            return {"exit_s": time.monotonic() - at}
        time.sleep(0.02)
    return {"exit_limit_s": ENDS_WITHIN}


def _empty(one: Site, start: int) -> None:
    """Until each task has ended, or nothing happens any more."""
    deadline, seen, changed = time.monotonic() + EMPTY_WITHIN, 0, time.monotonic()
    while time.monotonic() < min(deadline, changed + STUCK_AFTER):
        if len({run.number for run in one.since(start, ENDED)}) == TASKS:
            return
        if (count := one.records.count()) != seen:
            seen, changed = count, time.monotonic()
        time.sleep(0.05)


def _counts(one: Site, start: int) -> Figures:
    starts = Counter(run.number for run in one.since(start, RAN))
    ends = {run.number for run in one.since(start, ENDED)}
    return {"lost": TASKS - len(ends), "run_twice": sum(count > 1 for count in starts.values())}
