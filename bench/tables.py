"""The tables of docs/performance.md: which figure stands in which column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.figures import Section
from bench.systems import LIMIT, OURS

Cell = Callable[[Section, str], str]
NOTHING = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """`measure` says which subjects have a row; `without`: the end of titles that have none."""

    measure: str
    columns: dict[str, Cell]
    without: str | None = None

    def rows(self, section: Section) -> Iterator[list[str]]:
        for title in section.data["rounds"].get(self.measure, {}):
            if self.without and title.endswith(self.without):
                continue
            yield [title, *(cell(section, title) for cell in self.columns.values())]
        for title, why in section.data["failed"].get(self.measure, {}).items():
            yield [title, f"failed: {why[:80]}", *[""] * (len(self.columns) - 1)]

    def markdown(self, section: Section) -> str:
        heads = ["", *self.columns]
        return "\n".join([_line(heads), "|---" * len(heads) + "|", *map(_line, self.rows(section))])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _figure(measure: str, key: str, digits: int = 0) -> Cell:
    def cell(section: Section, title: str) -> str:
        figure = section.figure(measure, title, key)
        return figure.shown(digits) if figure else NOTHING

    return cell


def _beside_limit(measure: str, key: str) -> Cell:
    """The ratio to the bare loop with as many workers on the same server, else to the usual one."""

    def cell(section: Section, title: str) -> str:
        same = title.replace(OURS, LIMIT) if title.startswith((OURS, LIMIT)) else LIMIT
        ratio = section.ratio(measure, title, same, key) or section.ratio(measure, title, LIMIT, key)
        return ratio.shown(2) if ratio else NOTHING

    return cell


def _again(key: str) -> Cell:
    def cell(section: Section, title: str) -> str:
        seconds, limit = section.figure("crash", title, f"{key}_s"), section.figure("crash", title, f"{key}_limit_s")
        return f"{seconds.value:.3g} s" if seconds else f"not within {limit.value:.0f} s" if limit else NOTHING

    return cell


def _finished(section: Section, title: str) -> str:
    finished, running = section.figure("drain", title, "finished"), section.figure("drain", title, "running")
    return f"{finished.value:.0f} of {running.value:.0f}" if finished and running else NOTHING


def _exit(section: Section, title: str) -> str:
    seconds, limit = section.figure("drain", title, "exit_s"), section.figure("drain", title, "exit_limit_s")
    return f"{seconds.value:.1f} s" if seconds else f"not within {limit.value:.0f} s" if limit else NOTHING


THROUGHPUT = Table(
    "throughput",
    {
        "tasks/s": _figure("throughput", "drain"),
        "share of the bare loop": _beside_limit("throughput", "drain"),
        "worker processor time a task, µs": _figure("throughput", "worker_us"),
        "Redis processor time a task, µs": _figure("throughput", "server_us"),
        "Redis commands a task": _figure("throughput", "commands", 1),
        "tasks that ran twice": _figure("throughput", "twice"),
        "tasks that did not run": _figure("throughput", "missing"),
    },
)
SUBMITS = Table(
    "throughput",
    {
        "one by one, tasks/s": _figure("throughput", "singly"),
        "by 64 coroutines, tasks/s": _figure("throughput", "coroutines"),
        "in bulk, tasks/s": _figure("throughput", "bulk"),
    },
    without="8 workers",
)
LATENCY = Table(
    "latency",
    {
        "submit: p50 ms": _figure("latency", "p50", 2),
        "submit: p99 ms": _figure("latency", "p99", 2),
        "RPUSH of another program: p50 ms": _figure("latency", "foreign_p50", 2),
        "RPUSH of another program: p99 ms": _figure("latency", "foreign_p99", 2),
    },
)
REST = Table(
    "rest",
    {
        "memory of all processes, MiB": _figure("rest", "memory_mib"),
        "processes": _figure("rest", "processes"),
        "memory of the largest process, MiB": _figure("rest", "largest_mib", 1),
        "Redis commands/s": _figure("rest", "idle_commands", 1),
        "CPU of all processes, %": _figure("rest", "idle_cpu", 2),
        "CPU of the busiest process, %": _figure("rest", "busiest_cpu", 2),
    },
)
CRASH = Table(
    "crash",
    {"one worker killed": _again("worker_killed"), "all processes killed and started again": _again("all_killed")},
)
DRAIN = Table(
    "drain",
    {
        "running tasks finished": _finished,
        "all processes ended after": _exit,
        "tasks lost": _figure("drain", "lost"),
        "tasks that ran twice": _figure("drain", "run_twice"),
    },
)
KILLS = Table(
    "kills",
    {
        "task runs again after: p50 ms": _figure("kills", "again_p50", 1),
        "task runs again after: p99 ms": _figure("kills", "again_p99", 1),
        "replacement is ready after: p50 ms": _figure("kills", "replaced_p50", 1),
        "replacement is ready after: p99 ms": _figure("kills", "replaced_p99", 1),
    },
)
STORED = Table(
    "stored",
    {
        "run and kept, tasks/s": _figure("stored", "kept"),
        "run, tasks/s": _figure("stored", "drain"),
        "submitted one by one, tasks/s": _figure("stored", "singly"),
        "by 64 coroutines, tasks/s": _figure("stored", "coroutines"),
        "in bulk, tasks/s": _figure("stored", "bulk"),
        "tasks that ran twice": _figure("stored", "twice"),
        "tasks that did not run": _figure("stored", "missing"),
    },
)
ALL = {
    "Throughput": THROUGHPUT,
    "Submitting": SUBMITS,
    "From submit to handler on an idle queue": LATENCY,
    "At rest, eight workers": REST,
    "kill -9: seconds until the task runs again": CRASH,
    "A worker killed 100 times": KILLS,
    "After the signal to stop": DRAIN,
}
