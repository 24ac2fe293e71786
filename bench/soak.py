"""A pool that works on and on while its workers wear out: `python -m bench.soak`.

200,000 tasks through four workers on the embedded store, each replaced after 500 tasks. After every tenth of them
parent and steward are looked at: what they hold must stay as it is. Each task runs exactly once. `--tasks 20000` is
a short one.
"""

from __future__ import annotations

import argparse
import time

import uvloop
from anyio import to_thread

from bench import holdings, producing
from bench.ending import run
from bench.environ import environ
from bench.holdings import Look
from bench.machine import others
from bench.pool import Pool, folder, pool
from bench.records import Records, records
from bench.report import Target, finish, table
from bench.waiting import until

WORKERS = 4
LOOKS = 10
WARM = 1  # looks before which nothing is expected to be flat
PATIENCE = 600.0  # seconds for a tenth
FLAGS = ("--max-tasks", "500", "--keep", "20s")  # ended tasks are trimmed meanwhile: the steward's work, too


def main() -> int:
    tasks: int = _arguments().tasks
    (looks, ran, recycled), busy = others(lambda: _soak(tasks))
    columns = ("tasks", "seconds", *holdings.COLUMNS)
    table(
        f"{tasks:,} tasks, {recycled} workers replaced; others: {busy:.2f} cores",
        columns,
        [sample.row for sample in looks],
    )
    missing = Target("tasks that did not run exactly once", tasks - len(set(ran)) + len(ran) - len(set(ran)), 1)
    return finish([missing, *holdings.targets(looks, WARM)], {"tasks": tasks, "recycled": recycled, "others": busy})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200_000)
    return parser.parse_args()


def _soak(tasks: int) -> tuple[list[Look], list[int], int]:
    with (
        records() as seen,
        folder() as place,
        pool("bench.handlers:noop", WORKERS, place, environ(seen), *FLAGS) as running,
    ):
        looks = uvloop.run(_in_tenths(running, seen, tasks))
        return looks, [record.number for record in seen.read()], running.status().deaths.total


async def _in_tenths(running: Pool, seen: Records, tasks: int) -> list[Look]:
    began = time.monotonic()
    looks = [holdings.look(running, 0, 0.0)]
    async with producing.ours(running.url) as producer:
        for tenth in range(LOOKS):
            start, end = tasks * tenth // LOOKS, tasks * (tenth + 1) // LOOKS
            await producer.in_batches(range(start, end))
            await to_thread.run_sync(_done, seen, end)
            looks.append(holdings.look(running, end, time.monotonic() - began))
    return looks


def _done(seen: Records, tasks: int) -> None:
    until(lambda: seen.count() >= tasks, PATIENCE, f"{tasks} tasks have run", every=0.05)


if __name__ == "__main__":
    run(main)
