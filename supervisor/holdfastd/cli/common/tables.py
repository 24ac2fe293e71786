"""Prints tables. On a terminal they are drawn and made to fit; in a pipe they are aligned and whole.

Control characters of untrusted text are escaped.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from shutil import get_terminal_size
from typing import TypeVar

import click
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast_config.environment import no_color
from holdfast_config.error_text import escape
from holdfastd.cli.common import Session, output

# Fits a table into the width of a terminal: ids and texts are shortened at their end, then columns are left out.
#
# These functions do no I/O: the same cells and width give the same table.

CUT = "…"
SHORTEST_ID = 9  # 8 characters and the ellipsis: commands accept this beginning of a UUID
SHORTEST_TEXT = 16
NOTHING: tuple[str, ...] = ()

Cells = Sequence[str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableFit:
    """How a table may become narrower. Columns in `ids` and `texts` may be shortened; commands accept a shortened id.
    Columns in `drop` may be left out: first those without content, then the others in this order."""

    ids: tuple[str, ...] = NOTHING
    texts: tuple[str, ...] = NOTHING
    drop: tuple[str, ...] = NOTHING


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that was made narrow enough for the terminal. `dropped`: the columns that were left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    dropped: tuple[str, ...] = NOTHING


def fitted(columns: Cells, rows: Sequence[Cells], fit: TableFit, width: int, gap: int) -> Fitted:
    """The table within `width` characters, with `gap` characters between its columns. If it cannot become that narrow,
    it is as narrow as `fit` allows."""
    left, cells, dropped = tuple(columns), tuple(map(tuple, rows)), list[str]()
    least = _least(columns, rows, fit)
    for name in (*_drop_order(columns, rows, fit), None):
        if _total(least, gap) <= width or name is None:
            break
        place = left.index(name)
        left, cells = _without(left, place), tuple(_without(row, place) for row in cells)
        least = _without(least, place)
        dropped.append(name)
    widths = _widened(least, _widths(left, cells), left, fit, width - _total(least, gap))
    return Fitted(left, tuple(tuple(map(_shortened, row, widths)) for row in cells), tuple(dropped))


def _drop_order(columns: Cells, rows: Sequence[Cells], fit: TableFit) -> list[str]:
    """The columns that may be left out of a table, in the order in which they are. Columns without content go first."""
    filled = {name for name, *column in zip(columns, *rows, strict=True) if any(column)}
    return sorted((name for name in fit.drop if name in columns), key=lambda name: name in filled)


def _least(columns: Cells, rows: Sequence[Cells], fit: TableFit) -> tuple[int, ...]:
    """The smallest width to which each column may be shortened."""
    return tuple(
        _least_of(name, [row[place] for row in rows], full, fit)
        for place, (name, full) in enumerate(zip(columns, _widths(columns, rows), strict=True))
    )


def _least_of(name: str, cells: Cells, full: int, fit: TableFit) -> int:
    if name in fit.ids:
        return min(full, max(len(name), SHORTEST_ID, _distinct(cells) + 1))
    return min(full, max(len(name), SHORTEST_TEXT)) if name in fit.texts else full


def _distinct(ids: Cells) -> int:
    """The shortest length to which the ids can be cut so that different ids stay different."""
    ordered = sorted(set(ids))
    return max((_common(one, other) + 1 for one, other in pairwise(ordered)), default=0)


def _common(one: str, other: str) -> int:
    """The length of the longest beginning that both texts have."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _widths(columns: Cells, rows: Sequence[Cells]) -> tuple[int, ...]:
    return tuple(max(map(cell_len, column)) for column in zip(columns, *rows, strict=True))


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _without(items: tuple[T, ...], place: int) -> tuple[T, ...]:
    return (*items[:place], *items[place + 1 :])


def _widened(least: Sequence[int], full: Sequence[int], columns: Cells, fit: TableFit, room: int) -> list[int]:
    """The widths of the columns after the remaining room was given to the ids first, then to the texts. Users want to
    copy whole ids."""
    widths = list(least)
    for name in (*fit.ids, *fit.texts):
        if name in columns and room > 0:
            place = columns.index(name)
            more = min(room, full[place] - widths[place])
            widths[place] += more
            room -= more
    return widths


def _shortened(cell: str, width: int) -> str:
    return cell if cell_len(cell) <= width else set_cell_size(cell, width - 1).rstrip() + CUT


WIDEST = 10_000  # columns of a terminal
GAP, DRAWN_GAP = 2, 3  # between two columns of a table
WHOLE = TableFit()

Row = Sequence[object]


def table(columns: Sequence[str], rows: Sequence[Row], fit: TableFit = WHOLE, *, wide: bool = False) -> None:
    """Print rows under their columns. Numbers are right-aligned, None is empty. `fit`: how the table may become
    narrower on a terminal; with `wide` it does not."""
    cells = _texts(rows)
    numeric = {name for i, name in enumerate(columns) if rows and all(isinstance(row[i], int | float) for row in rows)}
    is_drawn = sys.stdout.isatty() and not no_color()
    shown = Fitted(tuple(columns), tuple(map(tuple, cells)))
    if sys.stdout.isatty() and not wide:
        shown = fitted(columns, cells, fit, get_terminal_size().columns, DRAWN_GAP if is_drawn else GAP)
    right = {place for place, name in enumerate(shown.columns) if name in numeric}
    if is_drawn:
        _draw(shown, right)
    else:
        plain([[name.upper() for name in shown.columns], *shown.rows], right)
    if shown.dropped:
        output.note(f"columns left out because the terminal is narrow: {', '.join(shown.dropped)}; --wide shows all")


def answer(
    session: Session, document: object, columns: Sequence[str], rows: Iterable[Row], fit: TableFit = WHOLE
) -> None:
    """Print the document with --json, else the rows in a table."""
    if session.json:
        output.document(document)
    else:
        table(columns, list(rows), fit, wide=session.wide)


def answer_lines(
    session: Session, documents: Iterable[object], columns: Sequence[str], rows: Iterable[Row], fit: TableFit = WHOLE
) -> None:
    """Print the documents with --json, each on a line of its own, else the rows in a table."""
    if session.json:
        for document in documents:
            output.line(document)
    else:
        table(columns, list(rows), fit, wide=session.wide)


def plain(rows: Sequence[Row], right: Collection[int] = ()) -> None:
    """Print aligned rows without a header. The columns of `right` are right-aligned."""
    for line in aligned(rows, right):
        click.echo(line)


def aligned(rows: Sequence[Row], right: Collection[int] = ()) -> list[str]:
    """The lines that `plain` prints."""
    cells = _texts(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _texts(rows: Sequence[Row]) -> list[list[str]]:
    return [["" if cell is None else escape(str(cell)) for cell in row] for row in rows]


def _draw(shown: Fitted, right: Collection[int]) -> None:
    """Draw columns at full width. The terminal wraps text that is still too wide, so that users can copy it."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, column in enumerate(shown.columns):
        drawn.add_column(column, justify="right" if place in right else "left", no_wrap=True)
    for row in shown.rows:
        drawn.add_row(*(Text(cell) for cell in row))  # as Text, so that no markup is read in it
    console = Console()
    console.width = max(console.width, console.measure(drawn, options=console.options.update(width=WIDEST)).maximum)
    console.print(drawn)
    if not shown.rows:
        console.print("none")
