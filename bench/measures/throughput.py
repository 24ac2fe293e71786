"""How fast tasks are submitted, and how fast workers empty a full queue; processor time of both sides for each task.

Tasks a second are those between the first and the last run of the handler. Processor time and commands are counted from
a tenth of the tasks to the end: no start is in them.
"""

from __future__ import annotations

import uvloop

from bench.hold import held
from bench.measures import Figures
from bench.producing import all_completed
from bench.site import Site, Subject, open_site
from bench.spending import Spending, cores_of_others, spending
from bench.systems import OURS

SINGLY, COROUTINES = 5_000, 10_000  # tasks, at most as many as are run
FEW = 2  # workers, whose start is over before a tenth of the tasks has run
ENOUGH = 3  # of so many tasks one is counted at least: with fewer the moments of the two looks would matter
EMPTY_WITHIN = 180.0  # seconds


def measure(subject: Subject, tasks: int = 0) -> Figures:
    """`tasks`: fewer than the system's own number."""
    count = tasks or subject.system.tasks
    with open_site(subject) as site:
        submits = _submits(site, count)
        emptied = fill_and_empty(site, count) if subject.workers > FEW else start_and_empty(site, count)
        if subject.system.app == OURS:
            uvloop.run(all_completed(site.server.url, count))
    return {**submits, **emptied}


def _submits(site: Site, count: int) -> Figures:
    """Rates of one call for each task; the server is empty after it."""
    rates: Figures = {}
    for name, action, tasks in (("singly", "singly", SINGLY), ("coroutines", "coroutines", COROUTINES)):
        rates |= _rate(name, site.produce(action, min(count, tasks)))
        site.server.client.flushall()
    return rates


def _rate(name: str, answer: dict[str, float] | None) -> Figures:
    return {name: answer["rate"]} if answer else {}


def start_and_empty(site: Site, count: int) -> Figures:
    """The queue is full before the workers start."""
    filled = _fill(site, count)
    site.tree.start()
    return {**filled, **_emptied(site, 0, count)}


def fill_and_empty(site: Site, count: int) -> Figures:
    """The workers are up, and held while the queue is filled: the start of many would take longer than the tasks."""
    site.start()
    with held(site):
        start = site.records.count()
        filled = _fill(site, count)
    return {**filled, **_emptied(site, start, count)}


def _fill(site: Site, count: int) -> Figures:
    """In the fastest way that there is; the rate if it is a call for many."""
    bulk = _rate("bulk", site.produce("bulk", count))
    if not bulk:
        site.produce("coroutines", count) or site.produce("singly", count)
    return bulk


def _emptied(site: Site, start: int, count: int) -> Figures:
    ran = site.records.count
    site.wait(lambda: ran() > start, EMPTY_WITHIN, "a task has run")
    site.tree.alive()
    site.wait(lambda: ran() >= start + count // 10, EMPTY_WITHIN, "a tenth of the tasks has run")
    before = spending(site)
    site.wait(lambda: ran() >= start + count, EMPTY_WITHIN, "all tasks have run")
    after = spending(site)
    costs = each_task(before, after)
    if after.tasks - before.tasks < count // ENOUGH:
        costs = {"others": costs["others"]}
    return {**_run_once(site, start, count), **costs}


def each_task(before: Spending, after: Spending) -> Figures:
    tasks = max(1, after.tasks - before.tasks)
    return {
        "worker_us": (after.worker - before.worker) / tasks * 1e6,
        "server_us": (after.server - before.server) / tasks * 1e6,
        "commands": (after.commands - before.commands) / tasks,
        "others": cores_of_others(before, after),
    }


def _run_once(site: Site, start: int, count: int) -> Figures:
    """Tasks a second; those that ran twice or never are counted, not hidden."""
    runs = site.records.read(start)
    numbers = {run.number for run in runs}
    seconds = (max(run.at_ns for run in runs) - min(run.at_ns for run in runs)) / 1e9
    return {"drain": (len(runs) - 1) / seconds, "twice": len(runs) - len(numbers), "missing": count - len(numbers)}
