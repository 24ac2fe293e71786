"""Renders the demonstration for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.core.words import counted
from holdfastd.demo.demonstration import DemoProgress
from holdfastd.demo.tally import ALL_KEPT, DemoResult

SHOWN = 8  # lines


def progress_panel(progress: DemoProgress) -> RenderableType:
    """The current progress."""
    bars = Table.grid(padding=(0, 2))
    for name, value in (("submitted", progress.submitted), ("completed", progress.completed)):
        total = progress.program.tasks
        bars.add_row(name, ProgressBar(total, value, width=40), f"{value:,} of {total:,}")
    counts = Text.assemble(
        (counted(progress.workers_killed, "worker"), "bold red"),
        " killed, ",
        (counted(progress.stewards_killed, "steward"), "bold red"),
        " killed, ",
        (counted(progress.redelivered, "task"), "bold yellow"),
        " redelivered",
    )
    messages = Text("\n".join(progress.messages[-SHOWN:]), style="dim")
    return Panel(
        Group(bars, Text(), counts, Text(), messages), title=counted(progress.program.workers, "worker"), width=76
    )


def result_panel(result: DemoResult, breaches: list[str]) -> RenderableType:
    """The result, with the promises that were broken."""
    rows = Table.grid(padding=(0, 2))
    for name, value in result.rows():
        rows.add_row(name, Text(value, style="bold"))
    verdict = Text("\n".join(breaches), style="bold red") if breaches else Text(ALL_KEPT, style="bold green")
    return Panel(Group(rows, Text(), verdict), title=f"after {result.seconds:g} s", width=76)
