"""The child process of each slot: pid, pidfd and channel. Decisions about children are made in core."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from holdfastd.control.listening_socket import LineSocket
from holdfastd.core.slots import Slot
from holdfastd.parent.fork import ForkedChild

LONGEST_MESSAGE = 1 << 20  # bytes: a traceback may be long
MOST_UNSENT = 4 << 20  # bytes: a new steward gets a message for every living worker at once


@dataclass(frozen=True, slots=True)
class ChildProcess:
    slot: Slot
    incarnation: str
    pid: int
    pidfd: int | None
    lines: LineSocket


class Children:
    """All children that live or are not reaped yet, by slot and by pid."""

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
        """Forget a child that was reaped: the kernel may give its pid to another process from now on."""
        del self._by_slot[process.slot], self._by_pid[process.pid]
        process.lines.close()
        if process.pidfd is not None:
            os.close(process.pidfd)

    def signal(self, slot: Slot, number: int) -> None:
        """Send a signal to the child alone, if it exists. Only the parent reaps children, so the pid is still the
        child's."""
        process = self._by_slot.get(slot)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def __iter__(self) -> Iterator[ChildProcess]:
        return iter(list(self._by_slot.values()))

    def __len__(self) -> int:
        return len(self._by_slot)
