"""Makes a line of the log of each line that a handler prints, with its task; all other output passes as it is.

The standard streams of the process are replaced by ones that ask which task runs. Output that does not come through
them passes as it is: that of a C extension, of a child process, of `os.write`. A line without its end waits for it, for
a flush, or for the end of the task, so nothing that was flushed is lost with the process.
"""

from __future__ import annotations

import codecs
import logging
import os
import sys
import threading
from typing import Any, TextIO, cast

from holdfast_config.current_task import CURRENT, LoggedTask
from holdfast_config.logging import write_output

LONGEST = 16_384  # characters; a longer line goes on in the next record: the journal cuts at 48 KiB

Writer = tuple[LoggedTask, int]  # a task and one of its threads

_streams: tuple[TaskStream, ...] = ()


def install() -> None:
    """Replace the standard streams of this process, and have warnings logged. Repeated, it changes nothing."""
    global _streams
    if _streams:
        return
    _streams = (TaskStream("stdout", sys.stdout), TaskStream("stderr", sys.stderr))
    sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in _streams)
    logging.captureWarnings(capture=True)
    for stream in _streams:
        os.register_at_fork(after_in_child=stream.forget)


def is_installed() -> bool:
    return bool(_streams)


def finish() -> None:
    """Log all lines that were begun: the process ends."""
    for stream in _streams:
        stream.finish()


def end_of(task: LoggedTask) -> None:
    """Log the lines that this task has begun and not ended."""
    for stream in _streams:
        stream.end_of(task)


class TaskStream:
    """A text stream in place of `through`, to which it passes what no task writes. Threads of a task have lines of
    their own, so none waits for another."""

    def __init__(self, name: str, through: TextIO) -> None:
        self.buffer = TaskBytes(self, through)
        self._name, self._through = name, through
        self._begun: dict[Writer, str] = {}
        self._decoders: dict[Writer, codecs.IncrementalDecoder] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._through, name)

    def isatty(self) -> bool:
        return CURRENT.get() is None and self._through.isatty()

    def write(self, text: str) -> int:
        task = CURRENT.get()
        if task is None:
            return self._through.write(text)
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a handler may pass anything
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._take(task, text)
        return len(text)

    def write_bytes(self, task: LoggedTask, data: bytes) -> None:
        """Take what a handler writes to the stream below; bytes that are no UTF-8 are escaped."""
        writer = (task, threading.get_ident())
        decoder = self._decoders.get(writer)
        if decoder is None:
            decoder = self._decoders[writer] = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._take(task, decoder.decode(data))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if (task := CURRENT.get()) is not None and (line := self._begun.pop((task, threading.get_ident()), "")):
            write_output(task, self._name, line, partial=True)
        self._through.flush()

    def end_of(self, task: LoggedTask) -> None:
        if self._begun or self._decoders:
            self._end({writer for writer in (*self._begun, *self._decoders) if writer[0] is task})

    def finish(self) -> None:
        self._end({*self._begun, *self._decoders})

    def forget(self) -> None:
        """Leave lines that have begun to the process that this one was forked from."""
        self._begun.clear()
        self._decoders.clear()

    def _end(self, writers: set[Writer]) -> None:
        for writer in writers:
            decoder = self._decoders.pop(writer, None)
            rest = decoder.decode(b"", final=True) if decoder else ""
            if line := self._begun.pop(writer, "") + rest:
                self._write(writer[0], line)

    def _take(self, task: LoggedTask, text: str) -> None:
        writer = (task, threading.get_ident())
        *whole, rest = (self._begun.pop(writer, "") + text).split("\n")
        for line in whole:
            self._write(task, line)
        if rest:
            self._begun[writer] = self._write_pieces(task, rest) if len(rest) > LONGEST else rest

    def _write(self, task: LoggedTask, line: str) -> None:
        write_output(task, self._name, self._write_pieces(task, line) if len(line) > LONGEST else line)

    def _write_pieces(self, task: LoggedTask, line: str) -> str:
        """Log the pieces of a long line; the last one, which is not logged."""
        start = 0
        while len(line) - start > LONGEST:
            write_output(task, self._name, line[start : start + LONGEST], partial=True)
            start += LONGEST
        return line[start:]


class TaskBytes:
    """The binary stream below a TaskStream."""

    def __init__(self, stream: TaskStream, through: TextIO) -> None:
        self._stream, self._through = stream, through

    def __getattr__(self, name: str) -> Any:
        return getattr(self._through.buffer, name)

    def write(self, data: bytes) -> int:
        task = CURRENT.get()
        if task is None:
            return self._through.buffer.write(data)
        self._stream.write_bytes(task, bytes(data))
        return len(data)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._stream.flush()
