"""Deaths and stops of children, taken from the kernel one known pid at a time. Only what we forked is interpreted."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from holdfastd.core.events import Event, Exited, Halted
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.leftover_processes import kill_remains
from holdfastd.parent.oom_kills import OomKills

MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes there, KiB here

_log = structlog.get_logger("holdfast.parent")


class DeathListener(Protocol):
    """Who has something to say before a child is buried."""

    def __call__(self, process: ChildProcess) -> None: ...


class Reaper:
    """`post` takes the events; `last_words` reads what a dead child still had in its channel, and unwatches it."""

    def __init__(self, family: Children, post: Callable[[Event], None], last_words: DeathListener) -> None:
        self._family = family
        self._post = post
        self._last_words = last_words
        self._memory = OomKills()

    def sweep(self) -> None:
        """SIGCHLD came: stops, deaths of children without a pidfd, deaths of strangers."""
        self._note_stopped()
        while (pid := _peek(os.P_ALL, 0)) is not None:
            process = self._family.of_pid(pid)
            if process is None:
                _reap(pid)
                _log.debug("reaped a process that was nobody's child", stranger=pid)
            else:
                self.collect(process)

    def collect(self, process: ChildProcess) -> None:
        """Bury the child if it is dead: first its last words and what it left behind, then its pid."""
        if self._family.of_pid(process.pid) is not process:
            return
        info = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if info is None:
            return
        status = info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
        out_of_memory = status == -signal.SIGKILL and self._memory.struck()
        fled = kill_remains(process.pid, process.incarnation, self._family.pids())
        if fled:
            _log.info("killed what a dead child had started", slot=str(process.slot), processes=fled)
        self._last_words(process)
        peak_bytes = _reap(process.pid)
        self._family.bury(process)
        jitter = random.uniform(-1, 1)
        self._post(Exited(process.slot, process.incarnation, status, out_of_memory, jitter, peak_bytes))

    def look_around(self) -> None:
        """Now and then: a net under lost signals, and a kill for memory elsewhere is not taken for a child's."""
        self._memory.struck()
        self.sweep()

    def kill_all(self, within: float) -> None:
        """Kill and bury every child; the kernel has `within` seconds to end them."""
        for process in self._family:
            os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + within
        while len(self._family) and time.monotonic() < deadline:
            for process in self._family:
                self.collect(process)
            time.sleep(0.001)

    def _note_stopped(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (info := os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOHANG)) is not None:
                process = self._family.of_pid(info.si_pid)
                if process is not None:
                    self._post(Halted(process.slot, process.incarnation))


def _peek(what: int, which: int) -> int | None:
    """A dead child that waits to be reaped, left as it is."""
    try:
        info = os.waitid(what, which, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if info is None else info.si_pid


def _reap(pid: int) -> int | None:
    """The most memory that it had resident, in bytes."""
    with contextlib.suppress(ChildProcessError):
        reaped, _, usage = os.wait4(pid, os.WNOHANG)
        return usage.ru_maxrss * MAXRSS_UNIT if reaped else None
    return None
