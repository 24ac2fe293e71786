"""A full queue that workers empty while one of them is killed with -9 again and again; then the books are made up.

Every so many seconds a worker dies that has just run a task. Afterwards each record of the store is read. The last run
of a task is the one that it completed with, so a task that is charged with a crash has run once more than that.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import uvloop

from bench import producing
from bench.measures import Figures
from bench.producing import QUEUE
from bench.records import Record
from bench.site import Site, Subject, open_site
from bench.spending import cores_of_others, spending
from holdfast import open_store
from holdfast.core.rollup import MINUTE, MINUTES_KEPT_MS, sum_of
from holdfast.core.statistics import in_all
from holdfast_config import RedisSettings

LATELY = 200  # records: who wrote them is at work
STARTS_WITHIN = 60.0  # seconds
SLOWEST = 1_000  # tasks a second, at which it is given up
PAGE = 2_000  # keys of one look
_T = f"{{{QUEUE}}}:"
_NUMBER = re.compile(rb'"number": ?(\d+)')


def measure(subject: Subject, tasks: int, every: float | None) -> Figures:
    """`every`: seconds between two kills; None: nobody is killed."""
    with open_site(subject) as site:
        site.produce("bulk", tasks)
        site.tree.start()
        site.wait(lambda: site.records.count() > 0, STARTS_WITHIN, "a task has run")
        before, killer = spending(site), Killer(site, random.Random(1))
        killer.until_run(tasks, every)
        after = spending(site)
        uvloop.run(producing.all_completed(site.server.url, tasks))
        runs = site.records.read()
        return {
            "drain": _rate(runs, tasks),
            "kills": len(killer.killed),
            **uvloop.run(_books(site, tasks, runs)),
            "others": cores_of_others(before, after),
        }


@dataclass(slots=True)
class Killer:
    site: Site
    chance: random.Random
    killed: set[int] = field(default_factory=set[int])

    def until_run(self, tasks: int, every: float | None) -> None:
        """Until handlers have run so often."""
        deadline, due = time.monotonic() + STARTS_WITHIN + tasks / SLOWEST, time.monotonic()
        while self.site.records.count() < tasks:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.site.records.count():,} of {tasks:,} tasks have run")
            if every is not None and time.monotonic() >= due:
                due += every
                self._kill_one()
            time.sleep(0.01)

    def _kill_one(self) -> None:
        latest = self.site.records.read(max(0, self.site.records.count() - LATELY))
        if at_work := sorted({record.pid for record in latest} - self.killed):
            victim = self.chance.choice(at_work)
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                self.killed.add(victim)


def _rate(runs: Sequence[Record], tasks: int) -> float:
    """Tasks a second: a task that ran twice counts once."""
    times = [run.at_ns for run in runs]
    return (tasks - 1) / (max(times) - min(times)) * 1e9


async def _books(site: Site, tasks: int, runs: Sequence[Record]) -> Figures:
    """Commits are those that the scripts of the store count as they settle."""
    records = list(_records(site.server.client))
    charged = {task_id: crashes for task_id, _, crashes in records if crashes}
    times = Counter(run.number for run in runs)
    return {
        "lost": tasks - sum(state == b"completed" for _, state, _ in records),
        "committed_twice": await _commits(site.server.url) - len(records),
        "charged": sum(charged.values()),
        "charged_unbegun": sum(
            max(0, crashes - (times[_number(site.server.client, task_id)] - 1)) for task_id, crashes in charged.items()
        ),
        "run_again": len(runs) - tasks,
    }


def _records(client: Any) -> Iterator[tuple[bytes, bytes, int]]:
    """Of each task: its id, its state, its crashes."""
    prefix, cursor = f"{_T}task:".encode(), 0
    while True:
        cursor, keys = client.scan(cursor, match=prefix + b"*", count=PAGE)
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.hmget(key, "state", "crashes")
        for key, (state, crashes) in zip(keys, pipeline.execute(), strict=True):
            yield key.removeprefix(prefix), state, int(crashes or 0)
        if not cursor:
            return


async def _commits(url: str) -> int:
    async with open_store(RedisSettings(url, 10, QUEUE)) as store:
        now = await store.clock_ms()
        return in_all(sum_of((await store.minutes(now - MINUTES_KEPT_MS, now + MINUTE)).values())).outcomes["completed"]


def _number(client: Any, task_id: bytes) -> int:
    found = _NUMBER.search(client.get(f"{_T}op:{task_id.decode()}"))
    assert found, "an operation without the number of its task"
    return int(found[1])
