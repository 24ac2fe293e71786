"""Measures as `make bench` does, writes nothing, and compares with the committed data: `python -m bench.comparison`.

A file as an argument is compared in place of a new measurement. A change of 10 % is marked; `~` marks figures of
rounds in which others used the machine. The exit status is 1 if a figure became worse by so much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import data
from bench.ending import run
from bench.figures import Figure, Section
from bench.performance import own_section
from bench.report import table

NOTABLE = 0.1
_MORE_IS_BETTER = True
FIGURES = {
    ("throughput", "drain"): _MORE_IS_BETTER,
    ("throughput", "singly"): _MORE_IS_BETTER,
    ("throughput", "coroutines"): _MORE_IS_BETTER,
    ("throughput", "bulk"): _MORE_IS_BETTER,
    ("throughput", "worker_us"): not _MORE_IS_BETTER,
    ("throughput", "server_us"): not _MORE_IS_BETTER,
    ("throughput", "commands"): not _MORE_IS_BETTER,
    ("latency", "p50"): not _MORE_IS_BETTER,
    ("latency", "p99"): not _MORE_IS_BETTER,
    ("latency", "foreign_p50"): not _MORE_IS_BETTER,
    ("rest", "memory_mib"): not _MORE_IS_BETTER,
    ("rest", "idle_commands"): not _MORE_IS_BETTER,
    ("rest", "idle_cpu"): not _MORE_IS_BETTER,
    ("kills", "again_p50"): not _MORE_IS_BETTER,
    ("kills", "again_p99"): not _MORE_IS_BETTER,
    ("crash", "all_killed_s"): not _MORE_IS_BETTER,
    ("drain", "exit_s"): not _MORE_IS_BETTER,
}


@dataclass(frozen=True, slots=True)
class Change:
    """`gain`: by which share it is better; negative if worse."""

    name: str
    before: Figure
    after: Figure
    gain: float

    @property
    def mark(self) -> str:
        return "WORSE" if self.gain <= -NOTABLE else "better" if self.gain >= NOTABLE else ""

    @property
    def row(self) -> tuple[object, ...]:
        change = self.after.value / self.before.value - 1
        return (self.name, self.before.shown(2), self.after.shown(2), f"{change:+.0%}", self.mark)


def main() -> int:
    before = data.committed().get("own")
    if before is None:
        print(f"{data.PATH.name} is not committed: `make bench` writes it")
        return 1
    after = data.load(Path(sys.argv[1]))["own"] if len(sys.argv) > 1 else own_section()
    changed = list(changes(Section(before), Section(after)))
    table("committed and now", ("", "committed", "now", "change", ""), [change.row for change in changed])
    return 1 if any(change.mark == "WORSE" for change in changed) else 0


def changes(before: Section, after: Section) -> Iterator[Change]:
    for title in before.titles:
        for (measure, key), more_is_better in FIGURES.items():
            old, new = (section.figure(measure, title, key) for section in (before, after))
            if old and new and old.value:
                change = new.value / old.value - 1
                yield Change(f"{title}: {measure} {key}", old, new, change if more_is_better else -change)


if __name__ == "__main__":
    run(main)
