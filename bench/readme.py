"""The README's rows of `make bench`."""

from __future__ import annotations

from bench.figures import Section
from bench.systems import LIMIT, OURS

EIGHT = f"{OURS}, 8 workers"
COMMAND = "`make bench`"


def rows(section: Section) -> str:
    lines = [
        ("no-op coroutines, two workers, default settings, results kept", _throughput(section)),
        ("processor time of a task", _processor_time(section)),
        ("tasks submitted a second: one by one, by 64 coroutines, in bulk", _submits(section)),
        ("from submit to handler on an idle queue", _latency(section)),
        ("parent, steward and eight idle workers, a handler with pydantic arguments", _rest(section)),
    ]
    return "\n".join(["| | | |", "|---|---|---|", *(f"| {name} | {said} | {COMMAND} |" for name, said in lines)])


def _shown(section: Section, measure: str, title: str, key: str, digits: int = 0) -> str:
    figure = section.figure(measure, title, key)
    return figure.shown(digits) if figure else "not measured"


def _throughput(section: Section) -> str:
    ratio = section.ratio("throughput", OURS, LIMIT, "drain")
    beside = f"{ratio.shown(2)} of a bare loop that keeps nothing safe" if ratio else "no bare loop was measured"
    return f"{_shown(section, 'throughput', OURS, 'drain')} tasks/s, {beside}"


def _processor_time(section: Section) -> str:
    worker, server = (_shown(section, "throughput", OURS, key) for key in ("worker_us", "server_us"))
    loop = " and ".join(_shown(section, "throughput", LIMIT, key) for key in ("worker_us", "server_us"))
    return f"{worker} µs of workers, {server} µs of Redis (the bare loop: {loop})"


def _submits(section: Section) -> str:
    return ", ".join(_shown(section, "throughput", OURS, key) for key in ("singly", "coroutines", "bulk"))


def _latency(section: Section) -> str:
    ours, loop = ([_shown(section, "latency", title, key, 2) for key in ("p50", "p99")] for title in (OURS, LIMIT))
    return f"p50 {ours[0]} ms, p99 {ours[1]} ms (the bare loop: {loop[0]}, {loop[1]})"


def _rest(section: Section) -> str:
    memory, commands = (_shown(section, "rest", EIGHT, key) for key in ("memory_mib", "idle_commands"))
    busiest = _shown(section, "rest", EIGHT, "busiest_cpu", 2)
    return f"{memory} MiB, {commands} Redis commands/s, at most {busiest} % CPU a process"
