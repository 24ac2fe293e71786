"""What commands print: JSON for machines, text for people. Untrusted text is spelled out."""

from __future__ import annotations

import json
import sys

import click

LINE_END = "\n"
LONGEST = 900  # characters of a line for people


def safe(value: str, keep: str = "") -> str:
    """Text that can neither act on a terminal nor hide on it; the characters of `keep` stay."""
    if value.isprintable():
        return value
    from holdfast_config.escape import escape  # seldom needed, and slow to import

    return escape(value, keep)


def document(value: object) -> None:
    """One JSON document: indented on a terminal."""
    click.echo(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def line(value: object) -> None:
    """One of many JSON documents, on a line of its own."""
    click.echo(compact(value))


def compact(value: object) -> str:
    """JSON on one line, in ASCII: control and invisible characters are spelled out."""
    return json.dumps(value)


def readable(value: object) -> str:
    """A value inside a text for people: a text as it is, other JSON with their letters kept."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text(value: str, keep: str = "") -> None:
    """A line for people; the characters of `keep` are left as they are."""
    click.echo(safe(value, keep))


def note(value: str) -> None:
    """A remark that is no part of the answer, on standard error."""
    click.echo(f"supervisor: {shortened(safe(value, keep=LINE_END))}", err=True)


def shortened(value: str) -> str:
    """Text without the middle of its very long lines: paths and values may be long, and the end says what is wrong."""
    return "\n".join(
        line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
        for line in value.split("\n")
    )
