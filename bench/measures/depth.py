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
RUN_WITHIN = 180.0  # seconds
STOPS_WITHIN = 30.0  # seconds


def measure(subject: Subject, depths: list[int], run: int = RUN) -> Iterator[tuple[int, Figures]]:
    """`run` tasks at each depth: so many others wait when the last of them has run."""
    with open_site(subject) as site:
        queued = submitted = 0
        for depth in depths:
            wanted = max(0, depth + run - queued)
            filled = _fill(site, submitted, wanted)
            submitted, queued = submitted + wanted, queued + wanted
            start = site.records.count()
            yield depth, {**filled, **_run(site, start, run)}
            queued -= site.records.count() - start


def _fill(site: Site, first: int, count: int) -> Figures:
    """What the server spent on each task that was submitted in bulk, in processor time and in memory."""
    if not count:
        return {}
    cpu, used = site.server.cpu_seconds(), _memory(site)
    site.produce("bulk", count, first)
    after = site.server.cpu_seconds()
    return {"submit_us": (after - cpu) / count * 1e6, "waiting_bytes": (_memory(site) - used) / count}


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
