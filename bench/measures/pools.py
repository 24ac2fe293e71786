"""The cost of a task by the number of workers of one pool, and by the number of supervisors beside each other."""

from __future__ import annotations

from dataclasses import replace

from bench.measures import Figures, throughput
from bench.site import Subject, open_site
from bench.systems import HOLDFAST, START

TASKS = 60_000
WORKERS_OF_EACH = 2


def with_workers(workers: int, program: str, tasks: int = TASKS) -> Figures:
    return _cost(Subject(f"{workers} workers", HOLDFAST, workers, program), tasks)


def with_supervisors(count: int, program: str, tasks: int = TASKS) -> Figures:
    """Each with two workers, in folders of its own."""
    system = replace(HOLDFAST, command=(*START, "--workers", str(WORKERS_OF_EACH)), each=True)
    return _cost(Subject(f"{count} supervisors", system, count, program), tasks)


def _cost(subject: Subject, tasks: int) -> Figures:
    with open_site(subject) as site:
        return throughput.fill_and_empty(site, tasks)
