"""The memory of 1,000,000 waiting tasks, and the time that each call then takes the server: `python -m bench.million`.

On a fresh server of the bundled kind and, where the host has a redis-server, on that, each in turn: tasks of the usual
348 bytes submitted through TaskManager, then as many foreign entries. A number as an argument measures fewer tasks. A
tenth is finished by pulls and settlements and deleted in a steward's steps, the rest is cleared. Memory is what the
server says that it uses, times are processor time of the server.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping

import uvloop

from bench import crowd
from bench.crowd import Measured
from bench.ending import run
from bench.pool import folder
from bench.report import Target, finish, table
from bench.server import server
from bench.servertime import LATE
from bench.sizes import KINDS

TASKS = 1_000_000
ROOM = 1.5  # GB
GB = 1e9
KINDS_OF_TASKS = {"submitted": crowd.submitted, "foreign": crowd.foreign}


def main() -> int:
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else TASKS
    measured = {f"{load.server}, {kind}": load for kind, load in _measured(tasks)}
    _show_weights(tasks, measured)
    for title, measurement in measured.items():
        columns = ("call", "calls", "median ms", "most", f"over {LATE:g} ms")
        table(f"\nserver time with {tasks:,} tasks, {title}", columns, [took.row for took in measurement.times])
    return finish(list(_targets(measured)), {title: measurement.numbers for title, measurement in measured.items()})


def _measured(tasks: int) -> Iterator[tuple[str, Measured]]:
    here = shutil.which("redis-server")
    for program in (None, here) if here else (None,):
        for kind, measure in KINDS_OF_TASKS.items():
            with folder() as place, server(place, program) as url:
                yield kind, uvloop.run(measure(url, tasks))


def _show_weights(tasks: int, measured: Mapping[str, Measured]) -> None:
    columns = (f"{tasks:,} tasks", "GB used", "GB resident", "bytes a waiting task", "bytes an ended one")
    rows = [
        (title, measurement.full.used / GB, measurement.full.resident / GB, *measurement.weights)
        for title, measurement in measured.items()
    ]
    table("what tasks weigh", columns, rows)
    for title, measurement in measured.items():
        kinds = [
            (kind, *(_size(found, kind) for found in (measurement.kinds_waiting, measurement.kinds_ended)))
            for kind in KINDS
        ]
        table(f"\nbytes a task by kind of key, {title}", ("key", "waiting", "ended"), kinds)


def _size(measured: Mapping[str, tuple[float, str]], kind: str) -> str:
    return f"{measured[kind][0]:.0f} {measured[kind][1]}" if kind in measured else ""


def _targets(measured: Mapping[str, Measured]) -> Iterator[Target]:
    for title, measurement in measured.items():
        slowest = max(measurement.times, key=lambda took: took.median)
        yield Target(f"GB, {title}", measurement.full.used / GB, ROOM)
        yield Target(f"ms of the slowest call ({slowest.name}), {title}", slowest.median, LATE)


if __name__ == "__main__":
    run(main)
