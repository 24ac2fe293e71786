"""1,000,000 tasks at full rate, undisturbed and with a worker killed with -9 every 0.5 s: `python -m bench.kills`.

    python -m bench.kills [TASKS] [--workers N] [--every SECONDS] [--dry] [--hurry]

Nothing may be lost, nothing committed twice; throughput is at least 0.8 of the undisturbed. A task is marked as begun
just before its handler is called: each kill may hit one task between the mark and the record of its handler. The
figures are written into docs/performance.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from bench import data, page
from bench.ending import run
from bench.machine import await_quiet
from bench.measures import Figures, kills
from bench.performance import machine
from bench.report import Target, finish, table
from bench.site import Subject
from bench.subjects import WORKERS
from bench.systems import HOLDFAST
from bench.tcp_server import programs

TASKS = 1_000_000
EVERY = 0.5  # seconds
SHARE = 0.8  # of the undisturbed throughput


def main() -> int:
    options = _options()
    runs: dict[str, Figures] = {}
    for name, every in (("undisturbed", None), ("killed", options.every)):
        if not options.hurry:
            await_quiet()
        runs[name] = kills.measure(_subject(options.workers), options.tasks, every)
        print(f"{name}: {', '.join(f'{key} {value:,.4g}' for key, value in runs[name].items())}", flush=True)
    section = {**machine(with_peers=False), **_asked(options), "runs": runs}
    table(f"{options.tasks:,} tasks", ("", *runs["killed"]), [(name, *runs[name].values()) for name in runs])
    if not options.dry:
        sections = {**data.load(), "kills": section}
        data.store(sections)
        page.write_kills(sections)
    return finish(list(_targets(runs)), {"runs": runs})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.kills")
    parser.add_argument("tasks", nargs="?", type=int, default=TASKS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--every", type=float, default=EVERY, help="seconds between two kills")
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")
    parser.add_argument("--hurry", action="store_true", help="do not wait for a quiet moment before each run")
    return parser.parse_args()


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    return {"tasks": options.tasks, "workers": options.workers, "every": options.every}


def _subject(workers: int) -> Subject:
    return Subject(HOLDFAST.name, HOLDFAST, workers, next(iter(programs().values())))


def _targets(runs: dict[str, Figures]) -> Iterator[Target]:
    yield Target("of the undisturbed throughput", runs["killed"]["drain"] / runs["undisturbed"]["drain"], SHARE, True)
    for key, name in (("lost", "tasks lost"), ("committed_twice", "tasks committed twice")):
        yield Target(name, abs(runs["killed"][key]), 1)
    yield Target(
        "crashes charged before a record, a kill", runs["killed"]["charged_unbegun"] / runs["killed"]["kills"], 1
    )


if __name__ == "__main__":
    run(main)
