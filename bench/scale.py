"""The cost of a task from 0 to 1,000,000 queued, from 1 to 32 workers, from 1 to 4 supervisors, and on a Cluster.

    python -m bench.scale [TASKS] [--dry] [--hurry]

TASKS bounds the queue and the tasks of each measurement. Costs are processor time: of the pool with its steward, and of
the server. The targets: no point of a line is more than 15 % above its lowest. The figures, the plots and what some
rates need are written into docs/capacity.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from bench import data, page
from bench.ending import run
from bench.machine import await_quiet
from bench.measures import Figures, depth, masters, pools
from bench.performance import machine
from bench.report import Target, finish, table
from bench.site import Subject
from bench.subjects import WORKERS
from bench.systems import HOLDFAST
from bench.tcp_server import programs

MOST_TASKS = 1_000_000
DEPTHS = (0, 1_000, 10_000, 100_000, 300_000, 1_000_000)
POOLS = (1, 2, 4, 8, 16, 32)
SUPERVISORS = (1, 2, 3, 4)
FLAT = 1.15
KEYS = ("worker_us", "server_us", "submit_us", "singly_us", "others")


def main() -> int:
    options = _options()
    section = {**machine(with_peers=False), "series": _series(options.tasks, patient=not options.hurry)}
    for name, points in section["series"].items():
        rows = [(x, *(points[x].get(key, "") for key in KEYS)) for x in points]
        table(f"µs a task, by {name}", (name, *KEYS), rows)
    if not options.dry:
        _write(section)
    return finish(list(_targets(section["series"])), {"series": section["series"]})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale")
    parser.add_argument("tasks", nargs="?", type=int, default=MOST_TASKS, help="the longest queue")
    parser.add_argument("--dry", action="store_true", help="print the tables and write nothing")
    parser.add_argument("--hurry", action="store_true", help="do not wait for a quiet moment before each measurement")
    return parser.parse_args()


def _series(tasks: int, *, patient: bool) -> dict[str, dict[str, Figures]]:
    program = next(iter(programs().values()))
    subject = Subject(HOLDFAST.name, HOLDFAST, WORKERS, program)
    depths = [most for most in DEPTHS if most <= tasks]
    series = {"tasks queued": depth.measure(subject, depths, min(depth.RUN, tasks))}
    counted = min(pools.TASKS, tasks)
    series["workers"] = ((count, pools.with_workers(count, program, counted)) for count in POOLS)
    series["supervisors"] = ((count, pools.with_supervisors(count, program, counted)) for count in SUPERVISORS)
    series["namespaces on three masters"] = masters.measure(program, counted)
    return {name: dict(_patiently(name, points, patient)) for name, points in series.items()}


def _patiently(name: str, points: Iterator[tuple[int, Figures]], patient: bool) -> Iterator[tuple[str, Figures]]:
    """Each point is measured when it is asked for: after a quiet moment."""
    while True:
        if patient:
            await_quiet()
        point = next(points, None)
        if point is None:
            return
        print(f"{name} {point[0]:,}: {', '.join(f'{key} {value:,.4g}' for key, value in point[1].items())}", flush=True)
        yield str(point[0]), point[1]


def _targets(series: dict[str, dict[str, Figures]]) -> Iterator[Target]:
    for name in ("tasks queued", "workers", "supervisors"):
        for key in ("worker_us", "server_us"):
            values = [figures[key] for figures in series[name].values() if figures.get(key)]
            if values:
                yield Target(f"{key} by {name}: highest beside lowest", max(values) / min(values), FLAT)


def _write(section: dict[str, Any]) -> None:
    sections = data.load()
    sections["scale"] = section
    data.store(sections)
    page.write_capacity(sections)


if __name__ == "__main__":
    run(main)
