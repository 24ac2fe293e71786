"""From just before the call that submits to the handler's first line, on an idle queue: one task, a gap, the next."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.measures import Figures
from bench.report import percentile
from bench.site import Site, Subject, open_site
from bench.spending import cores_of_others, spending

TASKS = 500
UNTIMED = 20  # at first
TIMED_SECONDS = 10.0  # at most
SETTLES = 1.5  # seconds
RUN_WITHIN = 60.0  # seconds


def measure(subject: Subject, tasks: int = TASKS) -> Figures:
    with open_site(subject) as site:
        site.start()
        time.sleep(SETTLES)
        counted = min(tasks, round(TIMED_SECONDS / subject.system.gap))
        before = spending(site)
        own, foreign = _timed(site, "timed", counted), _timed(site, "foreign", counted)
        others = cores_of_others(before, spending(site))
    return {**_shares("", own), **_shares("foreign_", foreign), "others": others}


def _timed(site: Site, action: str, tasks: int) -> list[float]:
    """Milliseconds; none where the producer has no such call."""
    start = site.records.count()
    if site.produce(action, UNTIMED + tasks, site.subject.system.gap) is None:
        return []
    site.wait(lambda: site.records.count() >= start + UNTIMED + tasks, RUN_WITHIN, "the timed tasks have run")
    return [(run.at_ns - run.sent_ns) / 1e6 for run in site.records.read(start)[UNTIMED:]]


def _shares(prefix: str, values: Sequence[float]) -> Figures:
    return {f"{prefix}p{share}": percentile(values, share / 100) for share in (50, 99)} if values else {}
