"""A host is gone, every process of it at once; another one takes over its tasks: `python -m bench.lost_host`.

Two supervisors on one server, with the default lease (15 s) and grace (5 s): nobody of the lost host can say that it is
gone, so its silence has to. Eight tasks wait on it; measured is the time from the kill to each running again elsewhere.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import uvloop

from bench import producing
from bench.ending import run
from bench.environ import environ
from bench.machine import others
from bench.pool import Pool, folder, pool
from bench.records import Record, Records, records
from bench.report import Target, finish, percentile, table
from bench.server import server
from bench.waiting import until

HANDLER = "bench.handlers:killed_once"
ROUNDS = 3
TASKS = 8
SETTLED = 20.0  # seconds until the other steward believes in leases
PATIENCE = 60.0  # seconds
ALLOWED = 20.0  # seconds: lease and grace


def main() -> int:
    waits, busy = others(_rounds)
    rows = [(f"round {number + 1}", min(ones), percentile(ones, 0.5), max(ones)) for number, ones in enumerate(waits)]
    table(f"{TASKS} tasks of a lost host; others: {busy:.2f} cores", ("seconds", "first", "p50", "last"), rows)
    longest = max(max(ones) for ones in waits)
    return finish([Target("s until the last task runs again", longest, ALLOWED)], {"seconds": waits, "others": busy})


def _rounds() -> list[list[float]]:
    with records() as seen, folder() as place, server(place) as url:
        flags = ("--redis-url", url)
        rounds: list[list[float]] = []
        for number in range(ROUNDS):
            lost, other = _made(place / f"lost{number}"), _made(place / f"other{number}")
            with pool(HANDLER, 2, lost, environ(seen), *flags) as losing:
                uvloop.run(_hold(url, seen, number))
                with pool(HANDLER, 2, other, environ(seen), *flags):
                    time.sleep(SETTLED)
                    rounds.append(_lose(losing, seen, number))
        return rounds


def _made(place: Path) -> Path:
    place.mkdir()
    return place


async def _hold(url: str, seen: Records, number: int) -> None:
    """Tasks that the first host runs, and will not end."""
    async with producing.ours(url) as producer:
        await producer.many(range(number * TASKS, (number + 1) * TASKS))
    _runs(seen, 2 * TASKS * number, TASKS)


def _lose(losing: Pool, seen: Records, number: int) -> list[float]:
    pids = [process.pid for process in losing.status().processes]
    os.kill(losing.pid, signal.SIGSTOP)  # it must not tell of them
    began = time.monotonic_ns()
    for pid in (*pids, losing.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    again = _runs(seen, (2 * number + 1) * TASKS, TASKS)
    return sorted(round((record.at_ns - began) / 1e9, 2) for record in again)


def _runs(seen: Records, start: int, count: int) -> list[Record]:
    until(lambda: seen.count() >= start + count, PATIENCE, f"{count} tasks run", every=0.01)
    return seen.read(start)[:count]


if __name__ == "__main__":
    run(main)
