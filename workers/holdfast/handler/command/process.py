"""One process of a command, from its start until it and its descendants are gone.

It leads a session of its own. When it has ended it is left unreaped until its group has been killed, so that no other
group gets that number; processes that escaped into another session are found by the marks in their environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import IO

import anyio

from holdfast.handler.command.command_line import Command
from holdfast.handler.command.escaped_processes import kill_escaped


class CommandProcess:
    """A command that has been started; leaving its context kills and reaps what is left of it.

    Starting it raises OSError. `marks`: those NAME=value of its environment that no other run has.
    `asked_to_end`: it got SIGTERM.
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
        try:
            self._pidfd = pidfd(self._popen.pid)
        except OSError:
            self._pidfd = -1  # no descriptor left, or an old kernel: a thread waits instead

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
    def stdin(self) -> IO[bytes]:
        return _piped(self._popen.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        return _piped(self._popen.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        return _piped(self._popen.stderr)

    @property
    def status(self) -> int:
        """Its exit status, or minus the signal that ended it; once it was left as a context."""
        return self._popen.returncode

    async def ended(self) -> None:
        """Wait until its first process has ended."""
        if self._pidfd >= 0:
            await anyio.wait_readable(self._pidfd)
        else:
            wait = partial(os.waitid, os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            await anyio.to_thread.run_sync(wait, limiter=anyio.CapacityLimiter(1))

    def ask_to_end(self) -> None:
        """SIGTERM to its group, and SIGCONT, as a stopped process would not get it."""
        self.asked_to_end = True
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to its group."""
        self._signal(signal.SIGKILL)

    def kill_all(self) -> None:
        """SIGKILL to its group, and to processes that escaped from it."""
        self.kill()
        kill_escaped(self._marks)

    def _signal(self, number: int) -> None:
        if self._popen.returncode is None:  # reaped, its number may be another's
            with suppress(OSError):
                os.killpg(self.pid, number)


def _piped(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
