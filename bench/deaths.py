"""The leftovers of a thousand deaths in the processes that survive them: `python -m bench.deaths`.

Four workers on the embedded store. A task runs and is settled; the worker that ran it is killed with -9; once another
is ready in its place the next task follows. After every tenth parent and steward are looked at. `--deaths 200` is a
short one.
"""

from __future__ import annotations

import argparse
import os
import signal
import time

import uvloop
from anyio import to_thread

from bench import holdings, producing
from bench.ending import run
from bench.environ import environ
from bench.holdings import Look
from bench.log import Log
from bench.machine import others
from bench.pool import Pool, folder, pool
from bench.records import Records, records
from bench.report import finish, table
from bench.waiting import until

WORKERS = 4
LOOKS = 10
WARM = 1  # looks before which nothing is expected to be flat
PATIENCE = 20.0  # seconds


def main() -> int:
    deaths: int = _arguments().deaths
    looks, busy = others(lambda: _die(deaths))
    table(
        f"{deaths:,} deaths, {WORKERS} workers; others: {busy:.2f} cores",
        ("deaths", "seconds", *holdings.COLUMNS),
        [sample.row for sample in looks],
    )
    return finish(holdings.targets(looks, WARM), {"deaths": deaths, "seconds": looks[-1].seconds, "others": busy})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deaths", type=int, default=1_000)
    return parser.parse_args()


def _die(deaths: int) -> list[Look]:
    with records() as seen, folder() as place, pool("bench.handlers:noop", WORKERS, place, environ(seen)) as running:
        return uvloop.run(_one_by_one(running, seen, deaths))


async def _one_by_one(running: Pool, seen: Records, deaths: int) -> list[Look]:
    began, log = time.monotonic(), Log(running.log)
    looks = [holdings.look(running, 0, 0.0)]
    async with producing.ours(running.url) as producer:
        for number in range(deaths):
            await producer.one(number, 0)
            await producing.all_completed(
                running.url, number + 1
            )  # one that has settled nothing is replaced with a pause
            await to_thread.run_sync(_kill, seen, log, number)
            if (number + 1) % (deaths // LOOKS) == 0:
                looks.append(holdings.look(running, number + 1, time.monotonic() - began))
    return looks


def _kill(seen: Records, log: Log, number: int) -> None:
    """The worker that ran this task; until another is ready."""
    victim = log.of_pid(seen.read(number)[0].pid)
    os.kill(victim.pid, signal.SIGKILL)
    until(lambda: log.after(victim) is not None, PATIENCE, "a replacement is ready", 0.001)


if __name__ == "__main__":
    run(main)
