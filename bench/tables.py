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
        "of the bare loop": _beside_limit("throughput", "drain"),
        "worker µs a task": _figure("throughput", "worker_us"),
        "server µs a task": _figure("throughput", "server_us"),
        "commands a task": _figure("throughput", "commands", 1),
        "ran twice": _figure("throughput", "twice"),
        "did not run": _figure("throughput", "missing"),
    },
)
SUBMITS = Table(
    "throughput",
    {
        "one by one, a second": _figure("throughput", "singly"),
        "64 coroutines": _figure("throughput", "coroutines"),
        "in bulk": _figure("throughput", "bulk"),
    },
    without="8 workers",
)
LATENCY = Table(
    "latency",
    {
        "p50 ms": _figure("latency", "p50", 2),
        "p99 ms": _figure("latency", "p99", 2),
        "foreign RPUSH, p50 ms": _figure("latency", "foreign_p50", 2),
        "p99 ms of these": _figure("latency", "foreign_p99", 2),
    },
)
REST = Table(
    "rest",
    {
        "memory, MiB": _figure("rest", "memory_mib"),
        "processes": _figure("rest", "processes"),
        "largest, MiB": _figure("rest", "largest_mib", 1),
        "commands/s": _figure("rest", "idle_commands", 1),
        "CPU %": _figure("rest", "idle_cpu", 2),
        "busiest process, %": _figure("rest", "busiest_cpu", 2),
    },
)
CRASH = Table("crash", {"worker killed": _again("worker_killed"), "all killed, started again": _again("all_killed")})
DRAIN = Table(
    "drain",
    {
        "running tasks finished": _finished,
        "all processes ended after": _exit,
        "lost": _figure("drain", "lost"),
        "ran twice": _figure("drain", "run_twice"),
    },
)
KILLS = Table(
    "kills",
    {
        "runs again, p50 ms": _figure("kills", "again_p50", 1),
        "p99 ms": _figure("kills", "again_p99", 1),
        "replacement ready, p50 ms": _figure("kills", "replaced_p50", 1),
        "p99 ms of it": _figure("kills", "replaced_p99", 1),
    },
)
STORED = Table(
    "stored",
    {
        "run and kept, a second": _figure("stored", "kept"),
        "run, a second": _figure("stored", "drain"),
        "submitted one by one, a second": _figure("stored", "singly"),
        "64 coroutines": _figure("stored", "coroutines"),
        "in bulk": _figure("stored", "bulk"),
        "ran twice": _figure("stored", "twice"),
        "did not run": _figure("stored", "missing"),
    },
)
ALL = {
    "Throughput": THROUGHPUT,
    "Submitting, tasks a second": SUBMITS,
    "From submit to handler on an idle queue": LATENCY,
    "At rest, eight workers": REST,
    "kill -9: seconds until the task runs again": CRASH,
    "100 kills of a worker": KILLS,
    "The signal to stop": DRAIN,
}
