"""The processes behind the slots: pid, pidfd, channel. What has a descriptor is here, what is decided is in core."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from holdfastd.control.line_socket import LineSocket
from holdfastd.core.slots import Slot
from holdfastd.parent.fork import ForkedChild

LONGEST_MESSAGE = 1 << 20  # bytes: a traceback may be long
MOST_UNSENT = 4 << 20  # bytes: a new steward is told of every living worker at once


@dataclass(frozen=True, slots=True)
class ChildProcess:
    slot: Slot
    incarnation: str
    pid: int
    pidfd: int | None
    lines: LineSocket


class Children:
    """Living (or not yet reaped) children, by slot and by pid."""

    def __init__(self) -> None:
        self._by_slot: dict[Slot, ChildProcess] = {}
        self._by_pid: dict[int, ChildProcess] = {}

    def adopt(self, slot: Slot, incarnation: str, born: ForkedChild) -> ChildProcess:
        lines = LineSocket(born.channel, LONGEST_MESSAGE, MOST_UNSENT)
        process = ChildProcess(slot, incarnation, born.pid, born.pidfd, lines)
        self._by_slot[slot] = self._by_pid[born.pid] = process
        return process

    def of_slot(self, slot: Slot) -> ChildProcess | None:
        return self._by_slot.get(slot)

    def of_pid(self, pid: int) -> ChildProcess | None:
        return self._by_pid.get(pid)

    def pids(self) -> set[int]:
        return set(self._by_pid)

    def bury(self, process: ChildProcess) -> None:
        """Reaped: its pid may be anybody's from now on."""
        del self._by_slot[process.slot], self._by_pid[process.pid]
        process.lines.close()
        if process.pidfd is not None:
            os.close(process.pidfd)

    def signal(self, slot: Slot, number: int) -> None:
        """To the child alone; nothing if it is gone. Its pid is its own until it is reaped, which only we do."""
        process = self._by_slot.get(slot)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def __iter__(self) -> Iterator[ChildProcess]:
        return iter(list(self._by_slot.values()))

    def __len__(self) -> int:
        return len(self._by_slot)
