"""The cost of a task by how many others wait behind it; what submitting costs the server then, and what tasks weigh.

One server for all depths: it is filled up to the next depth, and a pool runs the first tasks of the queue and stops.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from bench.measures import Figures, throughput
from bench.site import Site, Subject, open_site
from bench.spending import spending

RUN = 20_000  # tasks of each depth
SINGLY = 2_000  # tasks before that which are submitted one by one
RUN_WITHIN = 180.0  # seconds
STOPS_WITHIN = 30.0  # seconds


def measure(subject: Subject, depths: list[int], run: int = RUN) -> Iterator[tuple[int, Figures]]:
    """`run` tasks at each depth: so many others wait when the last of them has run."""
    with open_site(subject) as site:
        queued = submitted = 0
        for depth in depths:
            wanted = max(0, depth + run - queued)
            filled = _fill(site, submitted, wanted)
            singly = _submit_singly(site, submitted + wanted)
            submitted, queued = submitted + wanted + SINGLY, queued + wanted + SINGLY
            start = site.records.count()
            yield depth, {**filled, **singly, **_run(site, start, run)}
            queued -= site.records.count() - start


def _fill(site: Site, first: int, count: int) -> Figures:
    """Processor time and memory of the server for each task that was submitted in bulk."""
    if not count:
        return {}
    cpu, used = site.server.cpu_seconds(), _memory(site)
    site.produce("bulk", count, first)
    after = site.server.cpu_seconds()
    return {"submit_us": (after - cpu) / count * 1e6, "waiting_bytes": (_memory(site) - used) / count}


def _submit_singly(site: Site, first: int) -> Figures:
    """The same for tasks that are submitted one by one."""
    cpu = site.server.cpu_seconds()
    site.produce("singly", SINGLY, first)
    return {"singly_us": (site.server.cpu_seconds() - cpu) / SINGLY * 1e6}


def _memory(site: Site) -> int:
    return int(site.server.client.info("memory")["used_memory"])


def _run(site: Site, start: int, run: int) -> Figures:
    site.tree.start()
    site.wait(lambda: site.records.count() >= start + run // 10, RUN_WITHIN, "a tenth of the tasks has run")
    site.tree.alive()
    before = spending(site)
    site.wait(lambda: site.records.count() >= start + run, RUN_WITHIN, "the tasks have run")
    after = spending(site)
    site.tree.signal_started(signal.SIGTERM)
    site.wait(lambda: not site.tree.alive(), STOPS_WITHIN, "the pool has stopped")
    return throughput.each_task(before, after)
