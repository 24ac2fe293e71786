"""Memory and CPU of each child, through psutil. A child that cannot be measured has no numbers; nothing fails."""

from __future__ import annotations

import time

import psutil

from holdfastd.control.report import Usage


class Stats:
    """Remembers each process, as CPU use is a difference between two looks."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}

    def measure(self, pids: set[int]) -> dict[int, Usage]:
        """What can be said of these processes now; others are forgotten."""
        self._known = {pid: process for pid, process in self._known.items() if pid in pids}
        return {pid: usage for pid in pids if (usage := self._usage(pid)) is not None}

    def _usage(self, pid: int) -> Usage | None:
        try:
            process = self._known.get(pid)
            if process is None:
                process = self._known[pid] = psutil.Process(pid)
                process.cpu_percent()  # from now on; so far it is measured from its birth
                return Usage(_since_birth(process), process.memory_info().rss)
            with process.oneshot():
                return Usage(process.cpu_percent(), process.memory_info().rss)
        except (psutil.Error, OSError):
            return None


def _since_birth(process: psutil.Process) -> float:
    used = process.cpu_times()
    return round(100 * (used.user + used.system) / max(0.01, time.time() - process.create_time()), 1)
