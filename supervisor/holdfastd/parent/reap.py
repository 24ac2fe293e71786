"""Reaps children: it reads deaths and stops from the kernel, one known pid at a time. Adopted processes are reaped and
ignored.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

import structlog

from holdfast.os import processes
from holdfastd.core.parent_events import ChildStopped, Event, Exited
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.host import groups

# Detects kills for lack of memory: it reads the kernel's counter of our own control group, else that of the host.

_HOST = Path("/proc/vmstat")


class OomKills:
    """Keeps the last value of the counter, so that each kill is reported once."""

    def __init__(self, source: Path | None = None) -> None:
        self._source = source or _own_events()
        self._seen = self._count()

    def has_new(self) -> bool:
        """True if the kernel has killed for memory since the last call."""
        before, self._seen = self._seen, self._count()
        return self._seen > before

    def _count(self) -> int:
        try:
            lines = self._source.read_text("ascii").splitlines()
            return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
        except (OSError, ValueError, IndexError):
            return 0


def _own_events() -> Path:
    events = (folder / "memory.events" for folder in groups())
    return next((path for path in events if path.exists()), _HOST)


# Kills the processes that a dead child has left: its process group, and descendants that left it with setsid.
#
# The group is killed while the dead leader still holds its number. Descendants outside it became children of the
# parent, which is a subreaper; they carry the child's incarnation in their environment, or descend from a process that
# does.


def kill_leftovers(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill every process that this dead, not yet reaped child has left; the number of processes found.

    `known`: pids of living children, whose descendants are kept.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    return len(processes.kill_all(lambda: _fled_from(incarnation, known)))


def _fled_from(incarnation: str, known: Collection[int]) -> set[int]:
    adopted = processes.with_descendants(child for child in processes.children(os.getpid()) if child not in known)
    return processes.with_descendants(pid for pid in adopted if processes.carries_incarnation(pid, [incarnation]))


MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes there, KiB here

_log = structlog.get_logger("holdfast.parent")


class Reaper:
    """`emit` takes the events; `before_removal` reads the messages left in a dead child's channel, and unwatches it."""

    def __init__(
        self, children: Children, emit: Callable[[Event], None], before_removal: Callable[[ChildProcess], None]
    ) -> None:
        self._children = children
        self._emit = emit
        self._before_removal = before_removal
        self._memory = OomKills()

    def sweep(self) -> None:
        """Handle a SIGCHLD: children that were stopped, deaths of children without a pidfd, and deaths of adopted
        processes."""
        self._note_stopped()
        while (pid := _peek(os.P_ALL, 0)) is not None:
            process = self._children.of_pid(pid)
            if process is None:
                _reap(pid)
                _log.debug("reaped an adopted process", stranger=pid)
            else:
                self.collect(process)

    def collect(self, process: ChildProcess) -> None:
        """Reap the child if it is dead: first read its last messages and kill its leftover processes, then release its
        pid."""
        if self._children.of_pid(process.pid) is not process:
            return
        info = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if info is None:
            return
        status = info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
        out_of_memory = status == -signal.SIGKILL and self._memory.has_new()
        fled = kill_leftovers(process.pid, process.incarnation, self._children.pids())
        if fled:
            _log.info("killed the processes that a dead child had started", slot=str(process.slot), processes=fled)
        self._before_removal(process)
        peak_bytes = _reap(process.pid)
        self._children.remove(process)
        jitter = random.uniform(-1, 1)
        self._emit(Exited(process.slot, process.incarnation, status, out_of_memory, jitter, peak_bytes))

    def check_all(self) -> None:
        """Run now and then, in case a signal was lost. It also takes note of memory kills elsewhere, so that no child
        is blamed for them."""
        self._memory.has_new()
        self.sweep()

    def kill_all(self, within: float) -> None:
        """Kill and reap every child; the kernel has `within` seconds to end them."""
        for process in self._children:
            os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + within
        while len(self._children) and time.monotonic() < deadline:
            for process in self._children:
                self.collect(process)
            time.sleep(0.001)

    def _note_stopped(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (info := os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOHANG)) is not None:
                process = self._children.of_pid(info.si_pid)
                if process is not None:
                    self._emit(ChildStopped(process.slot, process.incarnation))


def _peek(what: int, which: int) -> int | None:
    """The pid of a dead child, which stays unreaped."""
    try:
        info = os.waitid(what, which, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if info is None else info.si_pid


def _reap(pid: int) -> int | None:
    """Reap this process; its peak resident memory in bytes."""
    with contextlib.suppress(ChildProcessError):
        reaped, _, usage = os.wait4(pid, os.WNOHANG)
        return usage.ru_maxrss * MAXRSS_UNIT if reaped else None
    return None
