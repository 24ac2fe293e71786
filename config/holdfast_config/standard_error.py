"""Writes to standard error without ever waiting for its reader.

A pipe that nobody reads fills up. A plain write to it would stop the whole process until somebody reads. Non-blocking
mode is a flag of the open file, which handlers and the program that started the service share with us. So the flag
stays as it is, and every kind of file is written in its own way:

- a pipe or a terminal is opened a second time in non-blocking mode: that open file is ours alone;
- into a pipe of another user, which cannot be opened again, the kernel moves the bytes out of a pipe of ours (splice);
- a terminal of another user is asked first if it has room;
- a socket gets the flag MSG_DONTWAIT with each call;
- a regular file has no reader, and is written as it is.

A line that finds no room is dropped and counted. Each process counts its own.
"""

from __future__ import annotations

import fcntl
import functools
import os
import select
import socket
import stat
import termios
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from structlog.typing import EventDict, WrappedLogger

if TYPE_CHECKING:
    import ctypes


STDERR = 2
ROOM = 1 << 20  # bytes that a pipe should hold, so that a burst of lines does not outrun its reader
_AGAIN = f"/proc/self/fd/{STDERR}"


class StandardError:
    """Standard error of this process. `dropped`: the number of lines that found no room and were not reported yet."""

    def __init__(self) -> None:
        self.dropped = 0
        self._rest = b""  # of a line that found room for its first part only
        self._own: tuple[int, os.stat_result] | None = None  # the same file, opened without waiting
        os.register_at_fork(after_in_child=self._begin_anew)

    def write(self, line: bytes) -> None:
        """Write a line; drop and count it if there is no room. Raises OSError if it cannot be written at all."""
        self.finish()
        if self._rest or not _has_room_for(len(line)):
            self.dropped += 1
            return
        rest = self._written(line)
        if len(rest) == len(line):
            self.dropped += 1
        else:
            self._rest = rest

    def finish(self) -> None:
        """Write the rest of a line that was written in part, as far as there is room."""
        if self._rest:
            self._rest = self._written(self._rest)

    def descriptor(self) -> int:
        """A descriptor for code that writes by itself, for example a dump of stacks. Writing does not wait, unless it
        is a socket or another user's file."""
        try:
            found = os.fstat(STDERR)
        except OSError:  # it was closed
            return STDERR
        own = self._opened(found) if stat.S_ISFIFO(found.st_mode) or os.isatty(STDERR) else None
        return STDERR if own is None else own

    def _written(self, data: bytes) -> bytes:
        """Write as much as there is room for; returns the rest."""
        found = os.fstat(STDERR)
        write = self._way(found)
        rest = memoryview(data)
        with suppress(BlockingIOError):
            while rest:
                rest = rest[write(rest) :]
        return bytes(rest)

    def _way(self, found: os.stat_result) -> Callable[[memoryview], int]:
        if stat.S_ISSOCK(found.st_mode):
            return _send
        if stat.S_ISFIFO(found.st_mode):
            own = self._opened(found)
            return _move if own is None else functools.partial(os.write, own)
        if stat.S_ISCHR(found.st_mode) and os.isatty(STDERR):
            own = self._opened(found)
            return _write_if_asked if own is None else functools.partial(os.write, own)
        return functools.partial(os.write, STDERR)

    def _opened(self, found: os.stat_result) -> int | None:
        """Opens the present file of standard error a second time; None if that fails."""
        ours = None
        if self._own is not None and _is_of(*self._own):
            ours, opened = self._own
            if os.path.samestat(opened, found):
                return ours
        try:
            descriptor = os.open(_AGAIN, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:  # of another user, no reader, no /proc
            return None
        if ours is not None:  # the number stays: dumps of stacks use it
            os.dup2(descriptor, ours, inheritable=False)
            os.close(descriptor)
            descriptor = ours
        self._own = descriptor, found
        return descriptor

    def _begin_anew(self) -> None:
        """Called in a forked process: its parent reports its own dropped lines and finishes its own line."""
        self.dropped, self._rest = 0, b""


STREAM = StandardError()


def has_room() -> bool:
    """True if a short line can be written now."""
    poll = select.poll()
    poll.register(STDERR, select.POLLOUT)
    return bool(poll.poll(0))


def make_room() -> None:
    """Let standard error hold more, if it is a pipe and the kernel allows it."""
    with suppress(OSError):
        if fcntl.fcntl(STDERR, fcntl.F_GETPIPE_SZ) < ROOM:
            fcntl.fcntl(STDERR, fcntl.F_SETPIPE_SZ, ROOM)


def _has_room_for(length: int) -> bool:
    """False for a long line that a pipe would take only in part: lines of other processes would mix with it."""
    if length <= select.PIPE_BUF:
        return True
    try:
        size = fcntl.fcntl(STDERR, fcntl.F_GETPIPE_SZ)
    except OSError:  # no pipe
        return True
    unread = int.from_bytes(fcntl.ioctl(STDERR, termios.FIONREAD, bytes(4)), "little")
    return not unread or length <= size - unread


def _is_of(descriptor: int, opened: os.stat_result) -> bool:
    """True if this descriptor still belongs to the file that was opened. Other code may have closed it since."""
    try:
        return os.path.samestat(os.fstat(descriptor), opened)
    except OSError:
        return False


def _send(data: memoryview) -> int:
    """Sends to a socket by its descriptor. `socket.socket` would make the shared file non-blocking if the program has
    set a default timeout."""
    import ctypes  # needed for sockets only

    sent: int = _libc().send(STDERR, bytes(data), len(data), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    if sent < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return sent


def _move(data: memoryview) -> int:
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.splice(reading, STDERR, os.write(writing, data), flags=os.SPLICE_F_NONBLOCK)
    finally:
        os.close(reading)
        os.close(writing)


def _write_if_asked(data: memoryview) -> int:
    if not has_room():
        raise BlockingIOError
    return os.write(STDERR, data[: select.PIPE_BUF])


@functools.cache
def _libc() -> ctypes.CDLL:
    import ctypes  # needed for sockets only

    libc = ctypes.CDLL(None, use_errno=True)
    libc.send.restype = ctypes.c_ssize_t
    libc.send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
    return libc


# The log sink: a second receiver of the records that go to standard error, such as telemetry.
#
# A process sets it after its fork; until then records go nowhere else. The records of a process that was forked from
# one with a sink reach the copy of that sink.

Sink = Callable[[Mapping[str, Any]], object]

_sinks: list[Sink] = []


def set_sink(sink: Sink | None) -> None:
    """Give records to `sink` as well; None ends that."""
    _sinks[:] = [] if sink is None else [sink]


def offer(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A structlog processor that gives the record to the sink. It stands last, when a record is complete and will be
    written."""
    for sink in _sinks:
        sink(event)
    return event


# Priorities of lines for the journal of systemd: `<3>` before a line is its level (sd-daemon(3)).

_PRIORITIES: Mapping[str, int] = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}


def is_journal(descriptor: int, environ: Mapping[str, str] = os.environ) -> bool:
    """True if this descriptor writes to the journal, which systemd names in JOURNAL_STREAM."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    with suppress(OSError, ValueError):
        found = os.fstat(descriptor)
        return (int(device), int(inode)) == (found.st_dev, found.st_ino)
    return False


def prioritised(text: str, level: str) -> str:
    """The text with the priority of this level before each of its lines."""
    mark = f"<{_PRIORITIES.get(level, 6)}>"
    return "\n".join(mark + line for line in text.split("\n"))
