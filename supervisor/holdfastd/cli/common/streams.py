"""The standard streams of a command: closed ones are opened, and write errors get a type of their own.

A closed descriptor would be reused by the next file that is opened; an event loop aborts if that is one of its own. A
write error of standard output has its own exit status, since the command itself may have succeeded. Write errors of
standard error are ignored.
"""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO, TextIO, cast

STDIN, STDOUT, STDERR = 0, 1, 2


class OutputError(OSError):
    """Standard output cannot be written; `strerror` says why."""

    def __str__(self) -> str:
        return f"standard output cannot be written: {self.strerror}"


class _Output(io.FileIO):
    def write(self, data: bytes, /) -> int:  # type: ignore[override] # a buffered writer passes bytes
        try:
            return super().write(data)
        except (
            BrokenPipeError
        ) as error:  # the reader has seen enough; one with an errno would be ended by click, with 1
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
    """Make the three streams usable, whatever the caller left of them."""
    for descriptor in (STDIN, STDOUT, STDERR):
        _open_if_closed(descriptor)
    if sys.stdin is None:
        sys.stdin = open(STDIN, closefd=False)  # noqa: SIM115, PLW1514 - in the locale's encoding; a descriptor, open as long as the process
    sys.stdout = _text(_Output(STDOUT, "wb", closefd=False), line_buffering=os.isatty(STDOUT))
    sys.stderr = _text(_Notes(STDERR, "wb", closefd=False), line_buffering=True)


def silence() -> None:
    """Discard buffered and further standard output, so that it does not raise again."""
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
    """Text in the locale's encoding; unbuffered if PYTHONUNBUFFERED is set."""
    unbuffered = bool(getattr(sys.__stdout__, "write_through", False))
    buffer = cast(BinaryIO, raw) if unbuffered else io.BufferedWriter(raw)
    return io.TextIOWrapper(  # noqa: PLW1514 - that is what is wanted
        buffer, errors="backslashreplace", line_buffering=line_buffering, write_through=unbuffered
    )
