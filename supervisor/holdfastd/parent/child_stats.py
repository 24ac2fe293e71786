"""Measures memory and CPU of each child with psutil. A child that cannot be measured is left out; nothing fails."""

from __future__ import annotations

import time

import psutil

from holdfastd.control.report import Usage


class Stats:
    """Keeps one psutil process for each child, as CPU use is a difference between two measurements."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}

    def measure(self, pids: set[int]) -> dict[int, Usage]:
        """The usage of these processes, as far as it can be measured; other processes are forgotten."""
        self._known = {pid: process for pid, process in self._known.items() if pid in pids}
        return {pid: usage for pid in pids if (usage := self._usage(pid)) is not None}

    def _usage(self, pid: int) -> Usage | None:
        try:
            process = self._known.get(pid)
            if process is None:
                process = self._known[pid] = psutil.Process(pid)
                process.cpu_percent()  # starts the next interval; this value covers the time since its start
                return Usage(_since_birth(process), process.memory_info().rss, _seconds(process))
            with process.oneshot():
                return Usage(process.cpu_percent(), process.memory_info().rss, _seconds(process))
        except (psutil.Error, OSError):
            return None


def _since_birth(process: psutil.Process) -> float:
    return round(100 * _seconds(process) / max(0.01, time.time() - process.create_time()), 1)


def _seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system
