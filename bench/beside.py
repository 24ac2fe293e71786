"""The table of docs/comparison.md: this project and its peers, a row each, from the data of `make bench-peers`."""

from __future__ import annotations

from bench.figures import Section
from bench.systems import HOLDFAST, LIMIT, OURS, PEERS
from bench.tables import CRASH, DRAIN, NOTHING

HEADS = (
    "",
    "tasks/s",
    "submitted one by one, tasks/s",
    "submit to handler, p50 ms",
    "submit to handler, p99 ms",
    "memory of 8 idle workers, MiB",
    "worker killed: task runs again after",
    "stop: running tasks finished",
)


def table(section: Section) -> str:
    rows = [_row(section, name) for name in (OURS, LIMIT, *(peer.name for peer in PEERS))]
    lines = [f"| {' | '.join(cells)} |" for cells in (HEADS, *rows)]
    return "\n".join([lines[0], "|---" * len(HEADS) + "|", *lines[1:]])


def versions(section: Section) -> str:
    """The version of each peer, and how it was set up."""
    measured = section.data["versions"]
    return "\n".join(
        f"- {system.name} {measured.get(system.name, {}).get(system.name, '')}".rstrip() + f": {system.note}"
        for system in (HOLDFAST, *PEERS)
    )


def _row(section: Section, name: str) -> list[str]:
    figures = [("throughput", "drain", 0), ("throughput", "singly", 0), ("latency", "p50", 2), ("latency", "p99", 2)]
    shown = [_shown(section, measure, name, key, digits) for measure, key, digits in figures]
    memory = _shown(section, "rest", f"{name}, 8 workers", "memory_mib", 0)
    killed, finished = CRASH.columns["one worker killed"], DRAIN.columns["running tasks finished"]
    return [name, *shown, memory, killed(section, name), finished(section, name)]


def _shown(section: Section, measure: str, title: str, key: str, digits: int) -> str:
    figure = section.figure(measure, title, key)
    return figure.shown(digits) if figure else NOTHING
