"""Turns each line that a handler prints into a log line with its task. Other output passes unchanged.

The process's standard streams are replaced by streams that check which task runs. Output of C extensions, child
processes and `os.write` does not come through these streams and passes unchanged. A line is logged at its line break,
at a flush, or at the end of the task. So a flushed line is not lost with the process.
"""

from __future__ import annotations

import codecs
import logging
import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TextIO, cast

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.outcomes import (
    Completed,
    Deferred,
    Failed,
    Failure,
    HandlerStopped,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
)
from holdfast.core.settle import one_line
from holdfast.exits import ChildExit
from holdfast.handler.task import Task
from holdfast.os.forked_copy import end_copy
from holdfast_config import library_log
from holdfast_config.logging import CURRENT, LoggedTask, write_output

LONGEST = 16_384  # characters; a longer line is split, because the journal cuts records at 48 KiB

Writer = tuple["TaskStream", LoggedTask, int]  # a stream, a task and one of its threads

unfinished: dict[Writer, str] = {}  # lines without their end
_installed: list[TaskStream] = []


def install() -> None:
    """Replace the standard streams of this process, and have warnings logged. A second call changes nothing."""
    if _installed:
        return
    _installed.extend((TaskStream("stdout", sys.stdout), TaskStream("stderr", sys.stderr)))
    sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in _installed)
    logging.captureWarnings(capture=True)
    os.register_at_fork(after_in_child=unfinished.clear)  # the parent logs lines that have begun


def is_installed() -> bool:
    return bool(_installed)


def end_of(task: LoggedTask) -> None:
    """Log the lines of this task that have no line break yet."""
    _end([writer for writer in list(unfinished) if writer[1] is task])  # a copy: threads go on writing


def finish() -> None:
    """Log all lines that have no line break yet, because the process ends."""
    _end(list(unfinished))


def _end(writers: list[Writer]) -> None:
    for stream, task, thread in writers:
        stream.end(task, thread)


class TaskStream:
    """A text stream that takes output of tasks, and passes all other output to `through`. Every thread of a task has
    its own line, so threads do not wait for each other."""

    def __init__(self, name: str, through: TextIO) -> None:
        self.buffer = TaskBytes(self, through)
        self._name, self._through = name, through
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
        """Take bytes that a handler writes to the binary stream. Bytes that are no UTF-8 are escaped."""
        writer = self._writer(task)
        decoder = self._decoders.pop(writer, None) or codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._take(task, decoder.decode(data))
        if decoder.getstate()[0]:  # a character has begun
            self._decoders[writer] = decoder
            unfinished.setdefault(writer, "")

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if (task := CURRENT.get()) is not None and (line := unfinished.get(writer := self._writer(task))):
            write_output(task, self._name, line, partial=True)
            unfinished[writer] = ""
        self._through.flush()

    def end(self, task: LoggedTask, thread: int) -> None:
        """Log the line of this thread of the task, although it has no line break yet."""
        writer = (self, task, thread)
        decoder = self._decoders.pop(writer, None)
        rest = decoder.decode(b"", final=True) if decoder else ""
        if line := unfinished.pop(writer, "") + rest:
            self._write(task, line)

    def _writer(self, task: LoggedTask) -> Writer:
        return self, task, threading.get_ident()

    def _take(self, task: LoggedTask, text: str) -> None:
        writer = self._writer(task)
        *whole, rest = (unfinished.pop(writer, "") + text).split("\n")
        for line in whole:
            self._write(task, line)
        if rest:
            unfinished[writer] = self._write_pieces(task, rest) if len(rest) > LONGEST else rest

    def _write(self, task: LoggedTask, line: str) -> None:
        write_output(task, self._name, self._write_pieces(task, line) if len(line) > LONGEST else line)

    def _write_pieces(self, task: LoggedTask, line: str) -> str:
        """Log the pieces of a long line; returns the last piece, which is not logged yet."""
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


# Logs the deliveries of a worker. Failures are always logged. Claimed, started and settled tasks are logged only if
# `log_level` is debug, because a line for each task would cost more than a short task.

_log = library_log.get_logger("holdfast.worker")


class TaskLog:
    """The log of one worker's deliveries. `level`: the setting `log_level`."""

    def __init__(self, level: str) -> None:
        self._all = level == "debug"

    def claimed(self, deliveries: Iterable[Delivery]) -> None:
        if self._all:
            for each in deliveries:
                names = {"task": each.task_id, "turn": each.turn, "delivery": each.delivery, "lane": each.lane}
                _log.debug("task claimed", **names, worker=each.incarnation)

    def started(self, task: Task) -> None:
        if self._all:
            _log.debug("task started", **task.log_fields())

    def ended(self, task: Task, outcome: Outcome | Deferred, report: Settlement | None) -> None:
        if type(outcome) is Completed and not self._all:
            return
        match outcome:
            case Raised(failure):
                error, then = f"{failure.type}: {one_line(failure.message)}", str(report.kind) if report else ""
                tell = _log.error if then == Settle.EXHAUSTED else _log.warning  # it is a dead letter now
                tell("task failed", error=error, then=then, **task.log_fields())
            case Failed(_, reason) | UnreadableMessage(reason):
                _log.warning("task failed", error=one_line(reason), **task.log_fields())
            case Rejected(_, reason):
                _log.warning("task rejected", error=one_line(reason), **task.log_fields())
            case HandlerStopped(why):
                _log.info("stopped a handler", reason=why, **task.log_fields())
            case _ if self._all and report:
                _log.debug("task settled", outcome=str(report.kind), **task.log_fields())
            case _:
                pass


class LogOfCopy(TaskLog):
    """Replaces the task log in a process that a handler forked. The delivery belongs to the worker. So when the handler
    ends in the forked process, that process ends, too."""

    def ended(self, task: Task, outcome: Outcome | Deferred, report: Settlement | None) -> None:
        match outcome:
            case Raised(Failure("SystemExit", status)):
                end_copy(SystemExit(int(status) if status.isdecimal() else status or None))
            case HandlerStopped() | Raised(Failure("asyncio.exceptions.CancelledError")):  # the handler did not finish
                end_copy(SystemExit(int(ChildExit.BUG)))
            case Raised(failure):
                with suppress(BaseException):  # the stream may be the user's
                    sys.stderr.write(failure.traceback or failure.message)
                end_copy(SystemExit(1))
            case _:
                end_copy()
