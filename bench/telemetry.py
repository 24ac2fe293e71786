"""Processor time of a worker for each task whose handler computes for 1 ms, with telemetry and without.

`make bench-telemetry`; `AGAINST=<folder of another tree>` measures that one, too, with telemetry off. All pools run at
the same time and take turns: ten rounds, in each of which every pool runs one batch, so each has a pair in the pool
without telemetry. What a pair differs by is the cost; the spread is that of two pools without telemetry.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import cast

import anyio

from bench import report
from bench.handlers import USAGE, spent
from bench.pool import ROOT, folder, pool
from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.sync import TaskManager
from holdfast.worker.context import WorkerContext
from holdfast.worker.samples import Samples
from holdfast_config import RedisSettings
from tests.telemetry.receiver import Mode, Receiver, receiving

ROUNDS = 10
TASKS = 500  # of one batch
HANDLER = "bench.handlers:computes"
KEPT = ("PATH", "HOME", "LANG", "TMPDIR")
SOURCES = ("config", "workers", "supervisor")
ONLY_TRACES = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
OFF, OFF_AGAIN, OTHER_TREE, TRACES, ALL = "off", "off again", "other tree, off", "traces", "traces, metrics, logs"
AWAY = {"collector hangs": Mode.HANGS, "collector refuses": Mode.REFUSES, "collector answers 500": Mode.ANSWERS_500}
NOTED, SECONDS = 1000, 50  # runs that are noted in a second, and seconds


@dataclass(frozen=True)
class Subject:
    """A pool of one worker. `receiver`: its collector, if it answers."""

    manager: TaskManager
    receiver: Receiver | None = None

    def measure(self, tasks: int) -> float:
        """Microseconds of the worker for each of these tasks, what it sends to the collector included."""
        before, spans = self._used(), self._spans()
        self._run("work", tasks)
        if self.receiver is not None:
            self.receiver.until(lambda: self._spans() >= spans + tasks)
        return (self._used() - before) / tasks

    def _spans(self) -> int:
        return 0 if self.receiver is None else sum(span.name.startswith("process") for span in self.receiver.spans())

    def _used(self) -> float:
        [result] = self._run(USAGE, 1)
        return float(json.loads(result or b"")["parts"][0]["text"])

    def _run(self, text: str, number: int) -> list[bytes | None]:
        ids = self.manager.run_tasks([TaskSpec(text=text) for _ in range(number)])
        return [record.result for record in self.manager.wait_all(ids)]


def main() -> int:
    options = _options()
    with ExitStack() as stack:
        subjects = {name: stack.enter_context(each) for name, each in _subjects(options.against).items()}
        costs = _measured(subjects, options.rounds, options.tasks)
    rollups = [anyio.run(_rollups) for _ in range(options.rounds)]
    shares = {
        name: [100 * (each / off - 1) for each, off in zip(costs[name], costs[OFF], strict=True)] for name in costs
    }
    rows = [(name, median(costs[name]), *_spread(shares[name])) for name in costs]
    columns = ("", "µs a task", "% more than off: median", "lowest", "highest")
    report.table(f"Processor time of a worker, {options.rounds} pairs of {options.tasks} tasks", columns, rows)
    report.table("Rollups", ("", "µs a task", "lowest", "highest"), [("figures of a run", *_spread(rollups))])
    noise = max(abs(each) for each in shares[OFF_AGAIN])
    targets = [
        report.Target("traces at 100 %, % of a task", median(shares[TRACES]), 5.0),
        report.Target("rollups, µs a task", median(rollups), 0.3),
    ]
    if OTHER_TREE in shares:
        targets.append(report.Target("off beside the other tree, %", abs(median(shares[OTHER_TREE])), noise))
    targets += [
        report.Target(f"{name}, % more than with one that answers", _beyond(costs, name), noise) for name in AWAY
    ]
    return report.finish(targets, {"costs": costs, "rollups": rollups})


def _beyond(costs: Mapping[str, list[float]], name: str) -> float:
    """Percent by which tasks cost more than beside a collector that answers, in the median of the pairs."""
    return median(100 * (each / well - 1) for each, well in zip(costs[name], costs[ALL], strict=True))


def _spread(values: list[float]) -> tuple[float, float, float]:
    return median(values), min(values), max(values)


def _measured(subjects: Mapping[str, Subject], rounds: int, tasks: int) -> dict[str, list[float]]:
    for subject in subjects.values():
        subject.measure(tasks)  # the first run of anything is no measure
    names = list(subjects)
    costs: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        _progress(number, rounds)
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            costs[name].append(subjects[name].measure(tasks))
    return costs


def _progress(number: int, rounds: int) -> None:
    print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)


def _subjects(against: Path | None) -> dict[str, AbstractContextManager[Subject]]:
    other = {OTHER_TREE: _subject(tree=against)} if against else {}
    return {
        OFF: _subject(),
        OFF_AGAIN: _subject(),
        **other,
        TRACES: _subject(Mode.NORMAL, ONLY_TRACES),
        ALL: _subject(Mode.NORMAL),
        **{name: _subject(mode) for name, mode in AWAY.items()},
    }


@contextmanager
def _subject(
    mode: Mode | None = None, variables: Mapping[str, str] | None = None, tree: Path | None = None
) -> Generator[Subject]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    paths = [str(tree / source) for source in SOURCES] if tree else []
    environ = {
        **kept,
        "PYTHONPATH": ":".join([*paths, str(ROOT)]),
        **(variables or {}),
    }
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving()) if mode is not None else None
        if receiver is not None:
            environ |= receiver.environ
            receiver.become(mode or Mode.NORMAL)
        running = stack.enter_context(pool(HANDLER, 1, stack.enter_context(folder()), environ))
        manager = stack.enter_context(TaskManager(RedisSettings(url=running.url)))
        yield Subject(manager, receiver if mode is Mode.NORMAL else None)


async def _rollups() -> float:
    """Microseconds to note a run and to send a second's runs, for each of them."""
    samples = Samples(cast("WorkerContext", SimpleNamespace(store=_Nowhere, incarnation="w", retries=_Once)))
    delivery = Delivery("t", "c", "bindu:tasks", b"x" * 300, 1, 1, 1, 0, None, None, solo=False, waited_ms=3)
    settled, called_at = Settlement("t", "c", Settle.COMPLETED, b"done"), time.monotonic()
    before = spent()
    for _ in range(SECONDS):
        for _ in range(NOTED):
            pass
    empty = spent()
    for _ in range(SECONDS):
        for _ in range(NOTED):
            samples.add(delivery, None, settled, time.monotonic() - called_at)
        await samples.send()
    return (spent() - empty - (empty - before)) / (SECONDS * NOTED)


class _Nowhere:
    """A store that takes samples and keeps none."""

    @staticmethod
    async def add_samples(*_: object) -> None:
        pass


class _Once:
    @staticmethod
    async def call(_: str, step: Callable[[], Awaitable[None]]) -> None:
        await step()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.telemetry", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--tasks", type=int, default=TASKS, help="of one batch")
    parser.add_argument("--against", type=Path, help="the folder of another tree")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
