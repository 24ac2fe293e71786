"""Prints JSON for programs and text for people. Control characters of untrusted text are escaped."""

from __future__ import annotations

import json
import os
import sys

from holdfastd.cli.common.called_name import as_called, command_name

LINE_END = "\n"
STDERR = 2
LONGEST = 900  # characters of a line for people


def safe(value: str, keep: str = "") -> str:
    """Text whose control and invisible characters are escaped, except those of `keep`."""
    if value.isprintable():
        return value
    from holdfast_config.error_text import escape  # seldom needed, and slow to import

    return escape(value, keep)


def document(value: object) -> None:
    """One JSON document: indented on a terminal."""
    _print(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def line(value: object) -> None:
    """One of many JSON documents, on a line of its own."""
    _print(compact(value))


def compact(value: object) -> str:
    """JSON on one line, in ASCII: control and invisible characters are escaped."""
    return json.dumps(value)


def readable(value: object) -> str:
    """A value inside a text for people: a string unchanged, anything else as JSON without escaped letters."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text(value: str, keep: str = "") -> None:
    """Prints a line for people; the characters of `keep` are not escaped."""
    _print(safe(value, keep))


def piece(value: str) -> None:
    """Prints escaped text without a line end."""
    sys.stdout.write(value)
    sys.stdout.flush()


def hint(value: str, keep: str = "") -> None:
    """Prints a line for people that may tell them to call a command, by the name by which this one was called."""
    text(as_called(value), keep)


def note(text: str, level: str = "info") -> None:
    """Prints a remark on standard error; the journal learns its level."""
    remark(safe(text, keep=LINE_END), level)


def announce(text: str, level: str = "info") -> None:
    """Prints a remark of a service, as `note` does, without waiting for its reader. Raises OSError."""
    from holdfast_config.standard_error import STREAM  # only services need it

    STREAM.write(f"{_remark(safe(text, keep=LINE_END), level)}\n".encode("utf-8", "backslashreplace"))


def remark(text: str, level: str) -> None:
    """Prints escaped text on standard error, without secrets; the journal learns its level."""
    sys.stderr.write(_remark(text, level) + LINE_END)
    sys.stderr.flush()


def _remark(text: str, level: str) -> str:
    from holdfast_config.secret_texts import mask  # seldom needed, and slow to import

    line = f"{command_name()}: {shortened(as_called(mask(text)))}"
    if "JOURNAL_STREAM" in os.environ:
        from holdfast_config.standard_error import is_journal, prioritised  # seldom needed, and slow to import

        return prioritised(line, level) if is_journal(STDERR) else line
    return line


def _print(value: str) -> None:
    sys.stdout.write(value + LINE_END)
    sys.stdout.flush()


def shortened(value: str) -> str:
    """Text whose very long lines lose their middle: the end of a message often names the error."""
    return "\n".join(
        line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
        for line in value.split("\n")
    )
