"""Renders the demonstration for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfastd.demo.demonstration import DemoProgress
from holdfastd.demo.result import DemoResult

SHOWN = 8  # lines


def progress_panel(progress: DemoProgress) -> RenderableType:
    """The current progress."""
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
    messages = Text("\n".join(progress.messages[-SHOWN:]), style="dim")
    return Panel(Group(bars, Text(), counts, Text(), messages), title=f"{progress.program.workers} workers", width=76)


def result_panel(result: DemoResult, breaches: list[str]) -> RenderableType:
    """The result, with the promises that were broken."""
    rows = Table.grid(padding=(0, 2))
    for name, value in result.rows():
        rows.add_row(name, Text(value, style="bold"))
    verdict = (
        Text("the ledger balances", style="bold green") if not breaches else Text("\n".join(breaches), style="bold red")
    )
    return Panel(Group(rows, Text(), verdict), title=f"after {result.seconds:g} s", width=76)
