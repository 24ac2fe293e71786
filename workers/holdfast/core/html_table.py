"""HTML tables, which Jupyter shows in place of a value's repr."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST = 1000  # characters of one cell


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with one line of heads. Texts are escaped, so that a task's text is never read as HTML."""
    lines = [_line("th", head), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def html_fields(fields: Iterable[tuple[str, object]]) -> str:
    """A table with one name and value on each line; fields without a value are left out."""
    lines = [_cell("th", name) + _cell("td", value) for name, value in fields if value not in (None, "")]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _line(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(_cell(tag, cell) for cell in cells)}</tr>"


def _cell(tag: str, value: object) -> str:
    from html import escape  # no worker needs its tables of names

    text = str(value)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f'<{tag} style="text-align: left; white-space: pre-wrap">{escape(text)}</{tag}>'
