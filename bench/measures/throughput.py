"""How fast tasks are submitted, and how fast workers empty a full queue; processor time of both sides for each task.

Tasks a second are those between the first and the last run of the handler. Processor time and commands are those from a
tenth of the tasks to the end: no start is in them.
"""

from __future__ import annotations

from collections import Counter

import uvloop

from bench.measures import Figures
from bench.producing import all_completed
from bench.site import Site, Subject, open_site
from bench.spending import Spending, cores_of_others, spending
from bench.systems import OURS

SINGLY, COROUTINES = 5_000, 10_000  # tasks, at most as many as are run
EMPTY_WITHIN = 180.0  # seconds


def measure(subject: Subject, tasks: int = 0) -> Figures:
    """`tasks`: fewer than the system's own number."""
    count = tasks or subject.system.tasks
    with open_site(subject) as site:
        submits = _submits(site, count)
        drain = _drain(site, count)
        if subject.system.app == OURS:
            uvloop.run(all_completed(site.server.url, count))
    return {**submits, **drain}


def _submits(site: Site, count: int) -> Figures:
    """Rates of each way to submit; the queue is full after it."""
    rates: Figures = {}
    for name, action, tasks in (("singly", "singly", SINGLY), ("coroutines", "coroutines", COROUTINES)):
        rates |= _rate(name, site.produce(action, min(count, tasks)))
        site.server.client.flushall()
    bulk = _rate("bulk", site.produce("bulk", count))
    if not bulk:
        site.produce("coroutines", count) or site.produce("singly", count)
    return rates | bulk


def _rate(name: str, answer: dict[str, float] | None) -> Figures:
    return {name: answer["rate"]} if answer else {}


def _drain(site: Site, count: int) -> Figures:
    ran = site.records.count
    site.tree.start()
    site.wait(lambda: ran() >= count // 10, EMPTY_WITHIN, "a tenth of the tasks has run")
    site.tree.alive()
    before = spending(site)
    site.wait(lambda: ran() >= count, EMPTY_WITHIN, "all tasks have run")
    after = spending(site)
    return {**_run_once(site, count), **_each_task(before, after)}


def _each_task(before: Spending, after: Spending) -> Figures:
    tasks = max(1, after.tasks - before.tasks)
    return {
        "worker_us": (after.worker - before.worker) / tasks * 1e6,
        "server_us": (after.server - before.server) / tasks * 1e6,
        "commands": (after.commands - before.commands) / tasks,
        "others": cores_of_others(before, after),
    }


def _run_once(site: Site, count: int) -> Figures:
    """Tasks a second; those that ran twice or never are counted, not hidden."""
    runs = site.records.read()
    times = Counter(run.number for run in runs)
    seconds = (max(run.at_ns for run in runs) - min(run.at_ns for run in runs)) / 1e9
    return {"drain": (len(runs) - 1) / seconds, "twice": len(runs) - len(times), "missing": count - len(times)}
