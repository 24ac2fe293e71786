"""What a pool costs that has nothing to do: `python -m bench.idle`.

Eight workers on the embedded store, for thirty seconds. The server's own counts of commands include what scripts call;
the steward's are in them, spread over the workers. Memory is PSS: each shared page counts once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from redis import Redis

from bench.ending import run
from bench.environ import environ
from bench.machine import quietly
from bench.pool import Pool, folder, pool
from bench.records import records
from bench.report import Target, finish, table

WORKERS = 8
SETTLING = 20.0  # seconds until the boot is over and every worker has been vouched for
SECONDS = 30.0
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """Now: the clock, the server's count of calls by command, processor seconds by pid."""

    at: float
    calls: Counter[str]
    cpu: dict[int, float]


@dataclass(frozen=True, slots=True)
class Idle:
    """`commands` a second of the whole pool, by name; `cpu` in percent and `pss` in bytes, by process."""

    commands: dict[str, float]
    cpu: dict[str, float]
    pss: dict[str, int]


def main() -> int:
    idle, others = quietly(_measure)
    rows = [(name, idle.cpu[name], idle.pss[name] / MIB) for name in idle.cpu]
    table(f"{WORKERS} idle workers for {SECONDS:g} s; others: {others:.2f} cores", ("", "CPU %", "PSS MiB"), rows)
    table("Redis commands a second, all processes", ("", "1/s"), list(idle.commands.items()))
    ours = [name for name in idle.cpu if name != "store"]
    busiest = max(ours, key=lambda name: idle.cpu[name])
    targets = [
        Target("Redis commands a second per worker", sum(idle.commands.values()) / WORKERS, 3.0),
        Target(f"CPU of the busiest process ({busiest}), %", idle.cpu[busiest], 0.5),
        Target("PSS of parent, steward and workers, MiB", sum(idle.pss[name] for name in ours) / MIB, 150),
    ]
    return finish(targets, {"commands": idle.commands, "cpu": idle.cpu, "pss": idle.pss, "others": others})


def _measure() -> Idle:
    with records() as seen, folder() as place, pool("bench.handlers:noop", WORKERS, place, environ(seen)) as running:
        time.sleep(SETTLING)
        names = _processes(running)
        with Redis(unix_socket_path=running.url.removeprefix("unix://")) as store:
            before = _look(store, names)
            time.sleep(SECONDS)
            after = _look(store, names)
        return _between(before, after, names)


def _processes(running: Pool) -> dict[int, str]:
    children = running.status().processes
    named = {child.pid: child.kind if child.kind != "worker" else f"worker {child.slot}" for child in children}
    return {running.pid: "parent", **named}


def _look(store: Any, pids: Iterable[int]) -> Look:
    stats: dict[str, dict[str, int]] = store.info("commandstats")
    calls = Counter({name.removeprefix("cmdstat_"): call["calls"] for name, call in stats.items()})
    times = {pid: psutil.Process(pid).cpu_times() for pid in pids}
    return Look(time.monotonic(), calls, {pid: spent.user + spent.system for pid, spent in times.items()})


def _between(before: Look, after: Look, names: dict[int, str]) -> Idle:
    seconds = after.at - before.at
    calls = after.calls - before.calls
    del calls["info"]  # our own
    cpu = {name: (after.cpu[pid] - before.cpu[pid]) / seconds * 100 for pid, name in names.items()}
    pss = {name: _pss(pid) for pid, name in names.items()}
    return Idle({name: count / seconds for name, count in calls.most_common()}, cpu, pss)


def _pss(pid: int) -> int:
    """Bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


if __name__ == "__main__":
    run(main)
