"""One process of a command, from its start until it and its descendants are gone.

The process leads a session of its own. After its end it is reaped only when its group has been killed: until it is
reaped, the kernel gives its number to no other group. Processes that have moved into other sessions are found by
`NAME=value` entries in their environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import IO, cast

import anyio

from holdfast.handler.command.command_line import Command
from holdfast.handler.failures import bounded
from holdfast.os import processes

# Writes a document to a process and reads its output, through pipes on the event loop.

CHUNK = 65536  # bytes: the capacity of a pipe


async def feed(pipe: IO[bytes], document: bytes) -> None:
    """Write the document and close the pipe. If the process ends or closes its input early, the rest is dropped."""
    os.set_blocking(pipe.fileno(), False)
    rest = memoryview(document)
    try:
        with suppress(BrokenPipeError):
            while rest:
                await anyio.wait_writable(pipe)
                rest = rest[os.write(pipe.fileno(), rest) :]
    finally:
        pipe.close()


async def listen(pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
    """Call `take` with each chunk, until every writer has closed the pipe. Reads one chunk per turn of the event loop,
    so that other tasks run in between."""
    os.set_blocking(pipe.fileno(), False)
    while True:
        await anyio.wait_readable(pipe)
        chunk = os.read(pipe.fileno(), CHUNK)
        if not chunk:
            return
        take(chunk)


# Reads a command's output within bounds: its result on standard output, remarks on standard error.

LINE_BYTES = 1024  # a logged line of standard error has at most so many
TAIL_BYTES = 4096  # at the end of standard error, which are kept with a failure


class CommandResult:
    """Collects standard output. If the output exceeds `most` bytes, it is dropped, and `on_excess` is called once."""

    def __init__(self, most: int, on_excess: Callable[[], None]) -> None:
        self._most = most
        self._on_excess = on_excess
        self._raw = bytearray()
        self.excessive = False

    def take(self, chunk: bytes) -> None:
        if self.excessive:
            return
        self._raw += chunk
        if len(self._raw) > self._most:
            self.excessive = True
            self._raw.clear()
            self._on_excess()

    @property
    def raw(self) -> bytes:
        return bytes(self._raw)


class Remarks:
    """Collects standard error: each complete line is given to `log`, and the last TAIL_BYTES are kept."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._line = bytearray()
        self._tail = bytearray()

    def take(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            self.finish()
        self._add(rest)

    def finish(self) -> None:
        """Log the last line, even if it has no line break."""
        if line := _text(self._line).strip():
            self._log(line)
        self._line.clear()

    @property
    def tail(self) -> str:
        return bounded(_text(self._tail), TAIL_BYTES)

    @property
    def last_line(self) -> str:
        """The last line of standard error that is not empty; an empty text if there is none."""
        return next(iter(self.tail.rstrip().splitlines()[::-1]), "").strip()

    def _add(self, part: bytes) -> None:
        self._line += part[: LINE_BYTES - len(self._line)]


def _text(raw: bytes | bytearray) -> str:
    return raw.decode(errors="replace")


# Kills the processes that a command started in sessions of their own, once the command has ended.
#
# Orphans become children of the supervisor's parent process, which adopts them. Its children in our session are workers
# and other processes of the supervisor. A child in another session is killed, with all its descendants, if it carries
# the marks in its environment.


def _escaped(marks: Collection[bytes]) -> set[int]:
    """The numbers of the command's processes that have moved into other sessions. `marks`: the `NAME=value` entries in
    the environment by which these processes are found."""
    adopted = processes.children(os.getppid())
    return processes.with_descendants(pid for pid in adopted if _is_foreign(pid) and processes.carries(pid, marks))


def _is_foreign(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


class CommandProcess:
    """A running command; leaving its context kills and reaps all its processes.

    Starting the command raises OSError. `marks`: the `NAME=value` entries of its environment that no other run has.
    `asked_to_end`: the command got SIGTERM.
    """

    def __init__(
        self,
        command: Command,
        environment: Mapping[str, str],
        marks: Collection[bytes],
        pidfd: Callable[[int], int] = os.pidfd_open,
    ) -> None:
        self.asked_to_end = False
        self._marks = marks
        self._popen = subprocess.Popen(
            command.words,
            executable=command.path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self.stdin, self.stdout, self.stderr = (
            cast("IO[bytes]", pipe) for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr)
        )
        try:
            self._pidfd = pidfd(self._popen.pid)
        except OSError:
            self._pidfd = -1  # no descriptor is left, or the kernel is old: a thread waits instead

    def __enter__(self) -> CommandProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self._popen.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def status(self) -> int:
        """The exit status of the command, or the negative number of the signal that ended it; known after the context
        was left."""
        return self._popen.returncode

    async def ended(self) -> None:
        """Wait until the first process of the command has ended."""
        if self._pidfd >= 0:
            await anyio.wait_readable(self._pidfd)
        else:
            wait = partial(os.waitid, os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            await anyio.to_thread.run_sync(wait, limiter=anyio.CapacityLimiter(1))

    def ask_to_end(self) -> None:
        """Send SIGTERM to the command's group, then SIGCONT, because a stopped process would not react."""
        self.asked_to_end = True
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to the command's group."""
        self._signal(signal.SIGKILL)

    def kill_all(self) -> None:
        """Send SIGKILL to the command's group, and to processes that escaped from it."""
        self.kill()
        processes.kill_all(lambda: _escaped(self._marks))

    def _signal(self, number: int) -> None:
        if self._popen.returncode is None:  # after it was reaped, another process may have its number
            with suppress(OSError):
                os.killpg(self.pid, number)
