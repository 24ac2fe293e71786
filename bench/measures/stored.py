"""How fast tasks that PostgreSQL keeps are submitted and run; one is kept once its outcome is committed there.

A fresh PostgreSQL, its log synced to disk as usual, for each measurement. Workers have run some tasks and stopped
before the queue is filled; then they start again.
"""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path

from bench.measures import Figures
from bench.site import Site, Subject, open_site
from bench.spending import cores_of_others, spending
from tests.ledger.server import Server, postgres

SYNCED = ("fsync=on", "shared_buffers=256MB", "track_commit_timestamp=on")
WARM = 1_000  # tasks
SINGLY, COROUTINES = 500, 2_000  # tasks, before those that are submitted in bulk
STARTS_WITHIN, STOPS_WITHIN = 60.0, 30.0  # seconds
KEPT_WITHIN = 180.0  # seconds
EVERY = 0.1  # seconds between two looks into the database


def measure(subject: Subject, tasks: int = 0) -> Figures:
    """`tasks`: fewer than the system's own number."""
    count = max(tasks or subject.system.tasks, SINGLY + COROUTINES + 1)
    with postgres(*SYNCED) as database:
        variables = {"DATABASE_URL": database.url(), "PGDSN": database.url(), "STORAGE_TYPE": "postgres"}
        with open_site(subject, variables) as site:
            _make_tables(site)
            _warm(site, database)
            submits = _submits(site, count)
            return {**submits, **_run(site, database, count)}


def _make_tables(site: Site) -> None:
    program, *rest = site.subject.system.tables
    done = subprocess.run(
        [str(Path(site.python).with_name(program)), *rest],
        env=site.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the tables of {site.subject.title} were not made: {done.stderr[-300:]}")


def _warm(site: Site, database: Server) -> None:
    """A first start is over, and PostgreSQL has analyzed tables with some rows, as it does within a minute."""
    site.start()
    wanted = _kept(site, database) + WARM
    site.produce("bulk", WARM)
    site.wait(lambda: _kept(site, database) >= wanted, KEPT_WITHIN, "the first tasks are kept")
    database.statement("ANALYZE")
    site.tree.signal_started(site.subject.system.drains)
    with suppress(TimeoutError):
        site.wait(lambda: not site.tree.alive(), STOPS_WITHIN, "the workers have stopped")
    site.tree.end()


def _submits(site: Site, count: int) -> Figures:
    rates: Figures = {}
    first = 0
    for name, tasks in (("singly", SINGLY), ("coroutines", COROUTINES), ("bulk", count - SINGLY - COROUTINES)):
        answer = site.produce(name, tasks, first)
        first += tasks
        if answer:
            rates[name] = answer["rate"]
    return rates


def _run(site: Site, database: Server, count: int) -> Figures:
    start, had = site.records.count(), _kept(site, database)
    site.tree.start()
    site.wait(lambda: site.records.count() > start, STARTS_WITHIN, "a task has run")
    before = spending(site)
    site.wait(lambda: site.records.count() >= start + count, KEPT_WITHIN, "all tasks have run")
    deadline = time.monotonic() + KEPT_WITHIN
    while _kept(site, database) < had + count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{site.subject.title}: not all outcomes are kept: {site.tail()}")
        time.sleep(EVERY)
    kept_ns, after, runs = time.monotonic_ns(), spending(site), site.records.read(start)
    first, last = (of(run.at_ns for run in runs) for of in (min, max))
    return {
        "kept": count / (kept_ns - first) * 1e9,
        "drain": (count - 1) / (last - first) * 1e9,
        "twice": len(runs) - len({run.number for run in runs}),
        "missing": count - len({run.number for run in runs}),
        "others": cores_of_others(before, after),
    }


def _kept(site: Site, database: Server) -> int:
    return int(database.statement(site.subject.system.kept))
