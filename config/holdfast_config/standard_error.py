"""Writes to standard error without waiting for its reader.

A pipe fills up if its reader does not read. A plain write to a full pipe would stop the whole process. Non-blocking
mode would help, but it is a flag of the open file, and this process shares the open file with handlers and with the
program that started the service. So this module leaves the flag alone and treats every kind of file in its own way:

- A pipe or a terminal is opened a second time, in non-blocking mode. No other process uses this second open file.
- A pipe of another user cannot be opened again. The kernel moves the bytes into it from a pipe of this process
(splice).
- A terminal of another user is asked before every write whether it has room (poll).
- A socket gets the flag MSG_DONTWAIT with every call.
- A regular file has no reader, so a plain write is enough.

If there is no room, the line is dropped and counted. A process counts only its own lines.
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
ROOM = 1 << 20  # bytes that a pipe should hold, so that a sudden flood of lines fits before the reader reads it
_AGAIN = f"/proc/self/fd/{STDERR}"


class StandardError:
    """Standard error of this process. `dropped`: the number of dropped lines that the log has not reported yet."""

    def __init__(self) -> None:
        self.dropped = 0
        self._rest = b""  # the rest of a line of which only the first part could be written
        self._own: tuple[int, os.stat_result] | None = None  # the same file, opened a second time in non-blocking mode
        os.register_at_fork(after_in_child=self._begin_anew)

    def write(self, line: bytes) -> None:
        """Write a line, or drop and count it if there is no room. Raises OSError if standard error cannot be written,
        for example because it is closed."""
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
        """Write the rest of a line that was written in part, or as much of the rest as there is room for."""
        if self._rest:
            self._rest = self._written(self._rest)

    def descriptor(self) -> int:
        """A descriptor of standard error for code that writes without this class, for example a dump of stacks. A write
        to this descriptor does not wait, unless it is a socket or a file of another user."""
        try:
            found = os.fstat(STDERR)
        except OSError:  # standard error is closed
            return STDERR
        own = self._opened(found) if stat.S_ISFIFO(found.st_mode) or os.isatty(STDERR) else None
        return STDERR if own is None else own

    def _written(self, data: bytes) -> bytes:
        """Write as much of the data as there is room for; returns the rest."""
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
        """The descriptor of the second open file, made at the first call. `found`: the status of the file that standard
        error is now. None if the file cannot be opened."""
        ours = None
        if self._own is not None and _is_of(*self._own):
            ours, opened = self._own
            if os.path.samestat(opened, found):
                return ours
        try:
            descriptor = os.open(_AGAIN, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:  # the file is another user's, the pipe has no reader, or there is no /proc
            return None
        if ours is not None:  # the new file keeps the old number, because dumps of stacks use the number
            os.dup2(descriptor, ours, inheritable=False)
            os.close(descriptor)
            descriptor = ours
        self._own = descriptor, found
        return descriptor

    def _begin_anew(self) -> None:
        """Forget dropped lines and the unfinished line. A forked process calls this, because its parent reports and
        finishes them."""
        self.dropped, self._rest = 0, b""


STREAM = StandardError()


def has_room() -> bool:
    """True if standard error has room for a short line now."""
    poll = select.poll()
    poll.register(STDERR, select.POLLOUT)
    return bool(poll.poll(0))


def make_room() -> None:
    """Enlarge the buffer of standard error to ROOM, if it is a pipe and the kernel allows this."""
    with suppress(OSError):
        if fcntl.fcntl(STDERR, fcntl.F_GETPIPE_SZ) < ROOM:
            fcntl.fcntl(STDERR, fcntl.F_SETPIPE_SZ, ROOM)


def _has_room_for(length: int) -> bool:
    """False if a pipe would take only a part of a line of this length. Lines of other processes would then mix with
    it."""
    if length <= select.PIPE_BUF:
        return True
    try:
        size = fcntl.fcntl(STDERR, fcntl.F_GETPIPE_SZ)
    except OSError:  # standard error is no pipe
        return True
    unread = int.from_bytes(fcntl.ioctl(STDERR, termios.FIONREAD, bytes(4)), "little")
    return not unread or length <= size - unread


def _is_of(descriptor: int, opened: os.stat_result) -> bool:
    """True if this descriptor still belongs to the file that was opened. Other code may have closed it in between."""
    try:
        return os.path.samestat(os.fstat(descriptor), opened)
    except OSError:
        return False


def _send(data: memoryview) -> int:
    """Send to a socket through libc, by its descriptor. A `socket.socket` would make the shared file non-blocking if
    the program has set a default timeout."""
    import ctypes  # imported late: only sockets need this

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


# The log sink: a second receiver of the log records, such as telemetry.
#
# A process sets its sink after the fork. Without a sink, records go to standard error only. A process forked from a
# process with a sink has a copy of this sink.

Sink = Callable[[Mapping[str, Any]], object]

_sinks: list[Sink] = []


def set_sink(sink: Sink | None) -> None:
    """Set a function that also gets every log record. None removes the function."""
    _sinks[:] = [] if sink is None else [sink]


def offer(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A structlog processor that gives the record to the sink. It is the last processor before rendering, so it gets
    only complete records that will be written."""
    for sink in _sinks:
        sink(event)
    return event


# Priorities of lines for systemd's journal: `<3>` before a line means the level error (sd-daemon(3)).

_PRIORITIES: Mapping[str, int] = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}


def is_journal(descriptor: int, environ: Mapping[str, str] = os.environ) -> bool:
    """True if this descriptor writes to systemd's journal. systemd names the journal's stream in JOURNAL_STREAM."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    with suppress(OSError, ValueError):
        found = os.fstat(descriptor)
        return (int(device), int(inode)) == (found.st_dev, found.st_ino)
    return False


def prioritised(text: str, level: str) -> str:
    """The text with the priority of this level before every line."""
    mark = f"<{_PRIORITIES.get(level, 6)}>"
    return "\n".join(mark + line for line in text.split("\n"))
