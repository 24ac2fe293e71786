"""Tables: drawn on a terminal, into which they fit, and aligned in a pipe, where they are whole.

Control characters of untrusted text are escaped.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from shutil import get_terminal_size

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast_config.environment import no_color
from holdfast_config.escape import escape
from holdfastd.cli.common import output
from holdfastd.cli.common.table_fit import Fitted, TableFit, fitted

WIDEST = 10_000  # columns of a terminal
GAP, DRAWN_GAP = 2, 3  # between two columns of a table
WHOLE = TableFit()

Row = Sequence[object]


def table(columns: Sequence[str], rows: Sequence[Row], fit: TableFit = WHOLE, *, wide: bool = False) -> None:
    """Prints rows under their columns; numbers are right-aligned, None is empty. `fit`: how it may become narrower to
    fit the terminal, unless it is `wide`."""
    cells = [["" if cell is None else escape(str(cell)) for cell in row] for row in rows]
    numeric = {name for i, name in enumerate(columns) if rows and all(isinstance(row[i], int | float) for row in rows)}
    is_drawn = sys.stdout.isatty() and not no_color()
    shown = Fitted(tuple(columns), tuple(map(tuple, cells)))
    if sys.stdout.isatty() and not wide:
        shown = fitted(columns, cells, fit, get_terminal_size().columns, DRAWN_GAP if is_drawn else GAP)
    print_rows = _drawn if is_drawn else _aligned
    print_rows(shown.columns, shown.rows, [name in numeric for name in shown.columns])
    if shown.dropped:
        output.note(f"left out, as the terminal is narrow: {', '.join(shown.dropped)}; --wide shows all")


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
    """Draws columns at full width: what is too wide all the same is wrapped by the terminal and can be copied."""
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
