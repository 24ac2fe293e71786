"""Tables: drawn on a terminal, aligned in a pipe. Control characters of untrusted text are escaped."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast_config.environment import no_color
from holdfast_config.escape import escape

WIDEST = 10_000  # columns of a terminal

Row = Sequence[object]


def table(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Prints rows under their columns; numbers are right-aligned, None is empty."""
    cells = [["" if cell is None else escape(str(cell)) for cell in row] for row in rows]
    to_right = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    if sys.stdout.isatty() and not no_color():
        _drawn(columns, cells, to_right)
    else:
        _aligned(columns, cells, to_right)


def plain(rows: Sequence[Row], right: Collection[int] = ()) -> None:
    """Prints aligned rows without a header; the columns of `right` are right-aligned."""
    for line in aligned(rows, right):
        click.echo(line)


def aligned(rows: Sequence[Row], right: Collection[int] = ()) -> list[str]:
    """The lines that `plain` prints."""
    cells = [["" if cell is None else escape(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]], to_right: Sequence[bool]) -> None:
    """Draws columns at full width: an id that the terminal wraps can be copied, a shortened one cannot."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column, right in zip(columns, to_right, strict=True):
        drawn.add_column(column, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))  # as Text, so that no markup is read in it
    console = Console()
    console.width = max(console.width, console.measure(drawn, options=console.options.update(width=WIDEST)).maximum)
    console.print(drawn)
    if not rows:
        console.print("none")


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], to_right: Sequence[bool]) -> None:
    shown = [[column.upper() for column in columns], *rows]
    widths = [max(len(row[i]) for row in shown) for i in range(len(columns))]
    for row in shown:
        cells = zip(row, widths, to_right, strict=True)
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        click.echo("  ".join(padded).rstrip())
