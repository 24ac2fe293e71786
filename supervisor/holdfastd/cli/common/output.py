"""The standard streams: JSON for programs and text for people. Control characters of untrusted text are escaped.

If a text tells the user to call a command, it uses the name by which this command was called: `supervisor` or
`holdfast`.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import BinaryIO, TextIO, cast

NAMES = ("supervisor", "holdfast")  # names of this command
COMMANDS = (
    "batches|check|completion|config|control|dead|db|demo|dispatch|doctor|events|help|init|lanes|queue|quiet|recover|"
    "reload|resume|scale|schedules|service|set|stacks|start|stats|status|statuses|stop|store|submit|tasks|tell|timeline|"
    "top|unset|version|webhooks|why|work|web|web-user|workers|COMMAND"
)
_NO_ARTICLE = "(?<!the )(?<!The )(?<!a )(?<!A )"  # "the supervisor" is the process, not a command
LINE_END = "\n"
STDIN, STDOUT, STDERR = 0, 1, 2
LONGEST = 900  # characters of a line for people


def command_name() -> str:
    """The name by which this command was called, `supervisor` or `holdfast`. For any other name: `supervisor`."""
    name = sys.argv[0].rpartition("/")[2]
    return name if name in NAMES else NAMES[0]


def as_called(text: str) -> str:
    """The text, in which each command that the user is told to call begins with the name by which this one was
    called."""
    name = command_name()
    if name == NAMES[0]:
        return text
    import re  # seldom needed here

    return re.sub(rf"{_NO_ARTICLE}\b{NAMES[0]} (?=({COMMANDS})\b)", f"{name} ", text)


def safe(value: str, keep: str = "") -> str:
    """Text whose control and invisible characters are escaped, except those of `keep`."""
    if value.isprintable():
        return value
    from holdfast_config.error_text import escape  # seldom needed, and slow to import

    return escape(value, keep)


def document(value: object) -> None:
    """Print one JSON document, indented on a terminal."""
    _print(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def line(value: object) -> None:
    """Print one of many JSON documents, on a line of its own."""
    _print(compact(value))


def compact(value: object) -> str:
    """JSON on one line, in ASCII: control and invisible characters are escaped."""
    return json.dumps(value)


def readable(value: object) -> str:
    """A value inside a text for people: a string unchanged, anything else as JSON without escaped letters."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text(value: str, keep: str = "") -> None:
    """Print a line for people. The characters of `keep` are not escaped."""
    _print(safe(value, keep))


def piece(value: str) -> None:
    """Print text that is escaped already, without a line end."""
    sys.stdout.write(value)
    sys.stdout.flush()


def hint(value: str, keep: str = "") -> None:
    """Print a line for people that may tell them to call a command. The command has the name by which this one was
    called."""
    text(as_called(value), keep)


def note(text: str, level: str = "info") -> None:
    """Print a remark on standard error. If systemd's journal reads standard error, the journal also gets the level."""
    remark(safe(text, keep=LINE_END), level)


def announce(text: str, level: str = "info") -> None:
    """Print a remark of a service, like `note`, but without waiting for the reader of standard error. Raises
    OSError."""
    from holdfast_config.standard_error import STREAM  # only services need it

    STREAM.write(f"{_remark(safe(text, keep=LINE_END), level)}\n".encode("utf-8", "backslashreplace"))


def remark(text: str, level: str) -> None:
    """Print escaped text on standard error, without secrets. If systemd's journal reads it, the journal also gets the
    level."""
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
    """The text, in which lines longer than LONGEST lose their middle. Their end stays, because it often names the
    error."""
    return "\n".join(
        line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
        for line in value.split("\n")
    )


# The standard streams of a command: closed ones are opened, and write errors get a type of their own.
#
# The next file that is opened would get the number of a closed descriptor. An event loop aborts if this file is one of
# its own. A write error of standard output has its own exit status, because the command itself may have
# succeeded. Write errors of standard error are ignored.


class OutputError(OSError):
    """Standard output cannot be written; `strerror` says why."""

    def __str__(self) -> str:
        return f"standard output cannot be written: {self.strerror}"


class _Output(io.FileIO):
    def write(self, data: bytes, /) -> int:  # type: ignore[override] # a buffered writer passes bytes
        try:
            return super().write(data)
        except BrokenPipeError as error:  # the reader closed it; click would exit with 1 for an error with an errno
            raise BrokenPipeError(error.strerror) from error
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from error


class _Notes(io.FileIO):
    def write(self, data: bytes, /) -> int:  # type: ignore[override] # a buffered writer passes bytes
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare() -> None:
    """Make the three standard streams usable: open those that the caller has closed, and give the others their error
    handling."""
    for descriptor in (STDIN, STDOUT, STDERR):
        _open_if_closed(descriptor)
    if sys.stdin is None:
        sys.stdin = open(STDIN, closefd=False)  # noqa: SIM115, PLW1514 - in the locale's encoding; a descriptor, open as long as the process
    sys.stdout = _text(_Output(STDOUT, "wb", closefd=False), line_buffering=os.isatty(STDOUT))
    sys.stderr = _text(_Notes(STDERR, "wb", closefd=False), line_buffering=True)


def silence() -> None:
    """Discard buffered and further standard output, so that further writes do not raise the same error again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _open_if_closed(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor: this one, since those below are open
        assert opened == descriptor
        os.set_inheritable(opened, True)


def _text(raw: io.FileIO, *, line_buffering: bool) -> TextIO:
    """A text stream over the file `raw`, in the locale's encoding; unbuffered if PYTHONUNBUFFERED is set."""
    unbuffered = bool(getattr(sys.__stdout__, "write_through", False))
    buffer = cast(BinaryIO, raw) if unbuffered else io.BufferedWriter(raw)
    return io.TextIOWrapper(  # noqa: PLW1514 - the locale's encoding is wanted
        buffer, errors="backslashreplace", line_buffering=line_buffering, write_through=unbuffered
    )
