"""What commands print: JSON for machines, a table for people, columns for pipes. Untrusted text is spelled out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

Row = Sequence[object]
LINE_END = "\n"


def safe(value: str, keep: str = "") -> str:
    """Text that can neither act on a terminal nor hide on it; the characters of `keep` stay."""
    if value.isprintable():
        return value
    from holdfast_config.escaping import escape  # seldom needed, and slow to import

    return escape(value, keep)


def document(value: object) -> None:
    """One JSON document: indented on a terminal."""
    click.echo(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def line(value: object) -> None:
    """One of many JSON documents, on a line of its own. ASCII: control and invisible characters are spelled out."""
    click.echo(json.dumps(value))


def compact(value: object) -> str:
    """A value inside a text for people: JSON that keeps their letters."""
    return json.dumps(value, ensure_ascii=False)


def text(value: str, keep: str = "") -> None:
    """A line for people; the characters of `keep` are left as they are."""
    click.echo(safe(value, keep))


def note(value: str) -> None:
    """A remark that is no part of the answer, on standard error."""
    click.echo(f"supervisor: {safe(value, keep=LINE_END)}", err=True)


def table(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Rows under their columns; a number stands to the right, None is left out."""
    cells = [["" if cell is None else safe(str(cell)) for cell in row] for row in rows]
    to_right = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    if sys.stdout.isatty():
        _drawn(columns, cells, to_right)
    else:
        _aligned(columns, cells, to_right)


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]], to_right: Sequence[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD)
    for column, right in zip(columns, to_right, strict=True):
        drawn.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))  # as Text, so that no markup is read in it
    Console().print(drawn)


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], to_right: Sequence[bool]) -> None:
    shown = [[column.upper() for column in columns], *rows]
    widths = [max(len(row[i]) for row in shown) for i in range(len(columns))]
    for row in shown:
        cells = zip(row, widths, to_right, strict=True)
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        click.echo("  ".join(padded).rstrip())
