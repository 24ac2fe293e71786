"""From kill -9 of a worker to its task running again, and to a new worker being ready: `python -m bench.recovery`.

Eight workers on the embedded store, a hundred kills, one at a time. A task records its start and waits; its process is
killed; the same task records its start elsewhere. That a replacement is ready is told by the supervisor's log, whose
time is when it heard of it. Only workers older than a second are killed: a younger one would be replaced with a pause.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import uvloop
from anyio import to_thread

from bench import producing
from bench.ending import run
from bench.environ import environ
from bench.log import Log
from bench.machine import others, quietly
from bench.measures import Figures
from bench.pool import folder, pool
from bench.records import Record, Records, records
from bench.report import Target, finish, percentile, table
from bench.site import Subject
from bench.waiting import until

HANDLER = "bench.handlers:killed_once"
WORKERS = 8
KILLS = 100
GROWN_UP = 1.2  # seconds
PATIENCE = 20.0  # seconds
EVERY = 0.001  # seconds between two looks; what is measured has its own clock


@dataclass(frozen=True, slots=True)
class Kill:
    """Milliseconds from the signal."""

    again: float
    replaced: float


def main() -> int:
    kills, cores = quietly(_kills)
    again, replaced = [kill.again for kill in kills], [kill.replaced for kill in kills]
    rows = [_row("task runs again", again), _row("replacement ready", replaced)]
    table(f"{KILLS} kills, {WORKERS} workers, embedded store; others: {cores:.2f} cores", _COLUMNS, rows)
    targets = [
        Target("p50 until the task runs again, ms", percentile(again, 0.5), 20),
        Target("p99 until the task runs again, ms", percentile(again, 0.99), 100),
        Target("p99 until a replacement is ready, ms", percentile(replaced, 0.99), 100),
    ]
    return finish(targets, {"again_ms": _rounded(again), "replaced_ms": _rounded(replaced), "others": round(cores, 2)})


def measure(_: Subject) -> Figures:
    """Percentiles of all kills: this project as it is without any flag."""
    kills, cores = others(_kills)
    again, replaced = [kill.again for kill in kills], [kill.replaced for kill in kills]
    shares = {"again": again, "replaced": replaced}
    figures = {
        f"{name}_p{share}": percentile(values, share / 100) for name, values in shares.items() for share in (50, 99)
    }
    return {**figures, "others": cores}


_COLUMNS = ("ms after kill -9", "p50", "p90", "p99", "max")


def _row(name: str, values: list[float]) -> tuple[object, ...]:
    return (name, *(percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)))


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 2) for value in values]


def _kills() -> list[Kill]:
    with records() as seen, folder() as place, pool(HANDLER, WORKERS, place, environ(seen)) as running:
        return uvloop.run(_one_by_one(running.url, seen, Log(running.log)))


async def _one_by_one(url: str, seen: Records, log: Log) -> list[Kill]:
    kills: list[Kill] = []
    async with producing.ours(url) as producer:
        for number in range(KILLS):
            await producer.one(number, 0)
            kills.append(await to_thread.run_sync(_kill, seen, log, number))
    return kills


def _kill(seen: Records, log: Log, number: int) -> Kill:
    """Kill the worker of the task that runs, and wait until all is well again."""
    victim = log.of_pid(_start(seen, number, 1).pid)
    time.sleep(max(0.0, victim.at + GROWN_UP - time.time()))
    at, at_ns = time.time(), time.monotonic_ns()
    os.kill(victim.pid, signal.SIGKILL)
    again = _start(seen, number, 2)
    until(lambda: log.after(victim) is not None, PATIENCE, "a replacement is ready", EVERY)
    replacement = log.after(victim)
    assert replacement is not None
    return Kill((again.at_ns - at_ns) / 1e6, (replacement.at - at) * 1000)


def _start(seen: Records, number: int, nth: int) -> Record:
    """The `nth` start of this task, once it is recorded; each earlier task has recorded two."""
    index = 2 * number + nth - 1
    until(lambda: seen.count() > index, PATIENCE, f"task {number} starts for the {nth}. time", EVERY)
    record = seen.read(index)[0]
    assert record.number == number, "another task ran instead"
    return record


if __name__ == "__main__":
    run(main)
