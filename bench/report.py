"""The report of a bench: a table, the targets with what was measured, the exact numbers as one line of JSON."""

from __future__ import annotations

import json
import math
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.machine import description

_console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)


@dataclass(frozen=True, slots=True)
class Target:
    """`at_least`: reached from `limit` up; else below it."""

    name: str
    measured: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured < self.limit

    def __str__(self) -> str:
        wanted = f"at least {self.limit:g}" if self.at_least else f"below {self.limit:g}"
        return f"{'met   ' if self.met else 'MISSED'} {self.name}: {self.measured:.4g}, wanted {wanted}"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    shown = Table()
    for number, column in enumerate(columns):
        shown.add_column(column, justify="right" if number else "left")
    for row in rows:
        shown.add_row(*map(_cell, row))
    _console.print(title, shown, sep="\n")


def _cell(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def finish(targets: Sequence[Target], numbers: Mapping[str, object]) -> int:
    """Print the targets and the numbers; the exit status: 1 if a target was missed."""
    for target in targets:
        print(target)
    print(json.dumps({**description(), "python": platform.python_version(), **numbers}))
    return 0 if all(target.met for target in targets) else 1
