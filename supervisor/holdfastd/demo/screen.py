"""How the demonstration looks on a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfastd.demo.demonstration import DemoProgress
from holdfastd.demo.observed import ObservedTasks

SAID = 8  # lines


def picture(progress: DemoProgress) -> RenderableType:
    """The state of things."""
    bars = Table.grid(padding=(0, 2))
    for name, value in (("submitted", progress.submitted), ("completed", progress.completed)):
        total = progress.program.tasks
        bars.add_row(name, ProgressBar(total, value, width=40), f"{value:,} of {total:,}")
    counts = Text.assemble(
        (f"{progress.workers_killed}", "bold red"),
        " workers killed, ",
        (f"{progress.stewards_killed}", "bold red"),
        " stewards killed, ",
        (f"{progress.redelivered}", "bold yellow"),
        " tasks redelivered",
    )
    said = Text("\n".join(progress.said[-SAID:]), style="dim")
    return Panel(Group(bars, Text(), counts, Text(), said), title=f"{progress.program.workers} workers", width=76)


def books(ledger: ObservedTasks, breaches: list[str]) -> RenderableType:
    """The ledger, and whether it balances."""
    rows = Table.grid(padding=(0, 2))
    for name, value in ledger.rows():
        rows.add_row(name, Text(value, style="bold"))
    verdict = (
        Text("the ledger balances", style="bold green") if not breaches else Text("\n".join(breaches), style="bold red")
    )
    return Panel(Group(rows, Text(), verdict), title=f"after {ledger.seconds:g} s", width=76)
