"""A look at the whole path in seconds: `python -m bench.smoke`, for continuous integration.

No figure is compared with an absolute time. This project and a bare loop empty such a queue in turn: each task runs
and completes once, and the ratios of the two stay within wide bounds, which a busy machine does not cross.
"""

from __future__ import annotations

from bench.ending import run
from bench.measures import Figures, latency, throughput
from bench.report import Target, finish, table
from bench.site import Subject
from bench.subjects import own
from bench.systems import LIMIT, OURS

TASKS = 8_000
TIMED = 50
FLOOR = 0.02  # of the bare loop's tasks a second
CEILING = 20.0  # times the bare loop's processor time for a task, of workers and server together


def main() -> int:
    subjects = {subject.title: subject for subject in own() if subject.title in {OURS, LIMIT}}
    figures = {title: _measured(subject) for title, subject in subjects.items()}
    table(f"{TASKS:,} no-op tasks, 2 workers", _COLUMNS, [_row(title, figure) for title, figure in figures.items()])
    ratio = figures[OURS]["drain"] / figures[LIMIT]["drain"]
    targets = [
        Target("tasks a second beside the bare loop", ratio, FLOOR, at_least=True),
        Target("processor time beside the bare loop", _cpu(figures[OURS]) / _cpu(figures[LIMIT]), CEILING),
        Target("tasks that did not run", figures[OURS]["missing"], 1),
        Target("tasks that ran twice", figures[OURS]["twice"], 1),
    ]
    return finish(targets, figures)


def _cpu(figures: Figures) -> float:
    return figures["worker_us"] + figures["server_us"]


def _measured(subject: Subject) -> Figures:
    return {**latency.measure(subject, TIMED), **throughput.measure(subject, TASKS)}


_COLUMNS = ("", "tasks/s", "submit/s", "bulk/s", "worker us", "server us", "commands", "p50 ms", "p99 ms")
_KEYS = ("drain", "singly", "bulk", "worker_us", "server_us", "commands", "p50", "p99")


def _row(title: str, figures: Figures) -> tuple[object, ...]:
    return (title, *(round(figures[key]) if figures[key] > 100 else figures[key] for key in _KEYS))


if __name__ == "__main__":
    run(main)
