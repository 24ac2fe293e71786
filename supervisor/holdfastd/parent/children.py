"""The child process in each slot: its messages, its death and its reaping. The core decides what follows from them."""

from __future__ import annotations

import contextlib
import os
import random
import selectors
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.ipc.channel import BootFailed, decode_from_child
from holdfast.os import processes
from holdfastd.control.listening_socket import LineSocket
from holdfastd.core.parent_events import ChildStopped, Event, Exited, MessageReceived
from holdfastd.core.slots import Slot
from holdfastd.parent.fork import ForkedChild
from holdfastd.parent.host import groups

LONGEST_MESSAGE = 1 << 20  # bytes: a message may contain a long traceback
MOST_UNSENT = 4 << 20  # bytes: a new steward gets messages about all living workers at once


@dataclass(frozen=True, slots=True)
class ChildProcess:
    slot: Slot
    incarnation: str
    pid: int
    pidfd: int | None
    lines: LineSocket


class Children:
    """The children that live or are not reaped yet, by slot and by pid."""

    def __init__(self) -> None:
        self._by_slot: dict[Slot, ChildProcess] = {}
        self._by_pid: dict[int, ChildProcess] = {}

    def adopt(self, slot: Slot, incarnation: str, forked_child: ForkedChild) -> ChildProcess:
        lines = LineSocket(forked_child.channel, LONGEST_MESSAGE, MOST_UNSENT)
        process = ChildProcess(slot, incarnation, forked_child.pid, forked_child.pidfd, lines)
        self._by_slot[slot] = self._by_pid[forked_child.pid] = process
        return process

    def of_slot(self, slot: Slot) -> ChildProcess | None:
        return self._by_slot.get(slot)

    def of_pid(self, pid: int) -> ChildProcess | None:
        return self._by_pid.get(pid)

    def pids(self) -> set[int]:
        return set(self._by_pid)

    def remove(self, process: ChildProcess) -> None:
        """Forget a child that was reaped. From now on the kernel may give its pid to another process."""
        del self._by_slot[process.slot], self._by_pid[process.pid]
        process.lines.close()
        if process.pidfd is not None:
            os.close(process.pidfd)

    def signal(self, slot: Slot, number: int) -> None:
        """Send a signal to the child if it exists, but not to its process group. Only the parent reaps children, so the
        pid cannot belong to another process."""
        process = self._by_slot.get(slot)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def __iter__(self) -> Iterator[ChildProcess]:
        return iter(list(self._by_slot.values()))

    def __len__(self) -> int:
        return len(self._by_slot)


# Detects kills for lack of memory. It reads the kernel's counter of this process's control group, or that of the host.

_HOST = Path("/proc/vmstat")


class OomKills:
    """The kernel's counter of kills for lack of memory. It remembers the last value, so it reports each kill once."""

    def __init__(self, source: Path | None = None) -> None:
        events = (folder / "memory.events" for folder in groups())
        self._source = source or next((path for path in events if path.exists()), _HOST)
        self._seen = self._count()

    def has_new(self) -> bool:
        """True if the kernel has killed a process for lack of memory since the last call."""
        before, self._seen = self._seen, self._count()
        return self._seen > before

    def _count(self) -> int:
        try:
            lines = self._source.read_text("ascii").splitlines()
            return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
        except (OSError, ValueError, IndexError):
            return 0


# Kills the processes that a dead child has left: its process group, and descendants that have left the group (setsid).
#
# The group is killed before its dead leader is reaped, while its number cannot be reused. Descendants outside the group
# are now children of the parent, because the parent is a subreaper. They are found by the child's incarnation in their
# environment, or in that of an ancestor.


def kill_leftovers(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill every process that this dead child has left; returns how many were found. The child is not reaped yet.

    `known`: pids of the other children. Their descendants are not killed.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    return len(processes.kill_all(lambda: _fled_from(incarnation, known)))


def _fled_from(incarnation: str, known: Collection[int]) -> set[int]:
    adopted = processes.with_descendants(child for child in processes.children(os.getpid()) if child not in known)
    return processes.with_descendants(pid for pid in adopted if processes.carries_incarnation(pid, [incarnation]))


MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes there, KiB here

_log = structlog.get_logger("holdfast.parent")


@dataclass(frozen=True, slots=True)
class Reaper:
    """Learns from the kernel which children have died or were stopped, and passes these events to `emit`. It calls
    `before_removal` with a dead child, which reads the child's last messages and stops watching it."""

    children: Children
    emit: Callable[[Event], None]
    before_removal: Callable[[ChildProcess], None]
    memory: OomKills = field(default_factory=OomKills)

    def sweep(self) -> None:
        """Handle a SIGCHLD. It reports stopped children and dead children, and reaps adopted processes (orphans of
        children)."""
        self._note_stopped()
        while (pid := _dead_child()) is not None:
            process = self.children.of_pid(pid)
            if process is None:
                _reap(pid)
                _log.debug("reaped an adopted process", stranger=pid)
            else:
                self.collect(process)

    def collect(self, process: ChildProcess) -> None:
        """Reap the child if it is dead. First it kills the processes that the child has left and reads the child's last
        messages; then it releases the pid."""
        if self.children.of_pid(process.pid) is not process:
            return
        info = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if info is None:
            return
        status = info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
        out_of_memory = status == -signal.SIGKILL and self.memory.has_new()
        fled = kill_leftovers(process.pid, process.incarnation, self.children.pids())
        if fled:
            _log.info("killed the processes that a dead child had started", slot=str(process.slot), processes=fled)
        self.before_removal(process)
        peak_bytes = _reap(process.pid)
        self.children.remove(process)
        jitter = random.uniform(-1, 1)
        self.emit(Exited(process.slot, process.incarnation, status, out_of_memory, jitter, peak_bytes))

    def check_all(self) -> None:
        """Look for deaths in case a signal was lost; called now and then. This also reads the counter of kills for lack
        of memory. Otherwise an earlier kill of another process would seem to be the cause of a child's later death."""
        self.memory.has_new()
        self.sweep()

    def kill_all(self, within: float) -> None:
        """Kill and reap every child. Returns after `within` seconds even if the kernel has not ended all of them."""
        for process in self.children:
            os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + within
        while len(self.children) and time.monotonic() < deadline:
            for process in self.children:
                self.collect(process)
            time.sleep(0.001)

    def _note_stopped(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (info := os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOHANG)) is not None:
                process = self.children.of_pid(info.si_pid)
                if process is not None:
                    self.emit(ChildStopped(process.slot, process.incarnation))


def _dead_child() -> int | None:
    """The pid of a dead child that is not reaped yet; None if there is none. This call does not reap it."""
    with contextlib.suppress(ChildProcessError):
        info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if info is None else info.si_pid
    return None


def _reap(pid: int) -> int | None:
    """Reap this process. Returns its peak resident memory in bytes; None if it was not reaped."""
    with contextlib.suppress(ChildProcessError):
        reaped, _, usage = os.wait4(pid, os.WNOHANG)
        return usage.ru_maxrss * MAXRSS_UNIT if reaped else None
    return None


# The wait of the parent's loop: it waits for descriptors and calls their callbacks, without threads or asyncio.

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE


class CallbackSelector:
    """The watched descriptors, with the callback to call when a descriptor is ready."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, descriptor: int, callback: Callable[[], None], interest: int = READ) -> None:
        """Call `callback` whenever the descriptor is ready to read or write (`interest`). A second call for the same
        descriptor replaces both."""
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, interest, callback)
        else:
            self._selector.register(descriptor, interest, callback)

    def forget(self, descriptor: int) -> None:
        """Stop watching the descriptor; call this before it is closed."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def turn(self, timeout: float) -> None:
        """Wait at most `timeout` seconds, then serve each ready descriptor once."""
        for key, _ in self._selector.select(timeout):
            registered = self._selector.get_map().get(key.fd)
            if registered is not None and registered.data is key.data:  # else an earlier callback has removed this one
                key.data()

    def close(self) -> None:
        self._selector.close()


class ChildListener:
    """Reads messages from the children's channels, and learns of deaths from their pidfds. `start_failure` gives the
    error of a dead store, which sends no messages."""

    def __init__(
        self,
        selector: CallbackSelector,
        children: Children,
        emit: Callable[[Event], None],
        start_failure: Callable[[Slot, int], BootFailed | None],
    ) -> None:
        self._selector, self._children, self._emit, self._start_failure = selector, children, emit, start_failure
        self.reaper = Reaper(children, emit, self._read_last_messages)

    def watch(self, process: ChildProcess) -> None:
        """Watch the channel and the pidfd of a new child."""
        self._selector.watch(process.lines.stream.fileno(), partial(self._listen, process))
        if process.pidfd is not None:
            self._selector.watch(process.pidfd, partial(self.reaper.collect, process))

    def watch_unsent(self) -> None:
        """If messages to a child are unsent because its channel was full, watch for room in the channel."""
        for process in self._children:
            if process.lines.is_pending and not process.lines.ended:
                self._selector.watch(process.lines.stream.fileno(), partial(self._listen, process), READ | WRITE)

    def _listen(self, process: ChildProcess) -> None:
        lines = process.lines
        was_pending = lines.is_pending
        lines.flush()
        for line in lines.receive():
            self._hear(process, line)
        if lines.overrun:
            lines.overrun = False
            _log.warning(
                "a child's message was longer than allowed and was dropped", slot=str(process.slot), pid=process.pid
            )
        if lines.ended:  # the child closed its end; it may live on, and the pidfd reports its death
            self._selector.forget(lines.stream.fileno())
        elif was_pending and not lines.is_pending:
            self.watch(process)

    def _hear(self, process: ChildProcess, line: bytes) -> None:
        try:
            message = decode_from_child(line)
        except UNREADABLE_JSON:
            _log.warning("a child's message cannot be decoded", slot=str(process.slot), line=line[:200])
            return
        self._emit(MessageReceived(process.slot, process.incarnation, message))

    def _read_last_messages(self, process: ChildProcess) -> None:
        if not process.lines.ended:
            self._listen(process)
        start_failure = self._start_failure(process.slot, process.pid)
        if start_failure is not None:
            self._emit(MessageReceived(process.slot, process.incarnation, start_failure))
        self._selector.forget(process.lines.stream.fileno())
        if process.pidfd is not None:
            self._selector.forget(process.pidfd)
