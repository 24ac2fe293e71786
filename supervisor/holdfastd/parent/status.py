"""Tells systemd the service's state after each turn of the loop that changed it. Prints a line when the service is
ready, and a line when a stop waits for tasks.
"""

from __future__ import annotations

import time
from shlex import quote

import psutil

from holdfast.core.words import counted
from holdfastd.control import report
from holdfastd.control.report import Usage
from holdfastd.core.commands import Announce
from holdfastd.core.slots import STORE, ChildKind
from holdfastd.core.view import View
from holdfastd.parent.systemd_notify import Notifier

EXTENSION = 15.0  # seconds by which a start, a reload or a drain asks systemd to extend its timeout, again and again

_EXTENSION = int(EXTENSION * 1e6)


class StatusNotifier:
    """Tells systemd and people what has changed. `announce` prints a line for people."""

    def __init__(self, notifier: Notifier, announce: Announce, store_url: str) -> None:
        self._notifier = notifier
        self._announce = announce
        self._store_url = store_url
        self._status = ""
        self._is_ready = self._is_announced = self._is_stopping = self._is_reloading = self._is_drain_announced = False
        self._pinged_at = self._extended_at = float("-inf")
        self._transitions = (False, False, False)

    def update(self, view: View, now: float) -> None:
        """Send everything that is new or due. Called once in each turn of the loop."""
        self._send_ready(view)
        self._send_reloading(view, now)
        self._send_stopping(view)
        self._extend(view, now)
        self._send_status(view)
        self._ping_watchdog(now)
        if not self._is_announced and view.stopping is None and view.serving() >= view.target:
            self._is_announced = True
            for line in start_lines(view, self._store_url):
                self._announce(line)
        if not self._is_drain_announced and (line := drain_line(view, now)):
            self._is_drain_announced = True
            self._announce(line)

    def _send_ready(self, view: View) -> None:
        if not self._is_ready and ChildKind.WORKER in view.ready_kinds:
            self._is_ready = self._notifier.send(READY=1)

    def _send_reloading(self, view: View, now: float) -> None:
        """Send RELOADING with the monotonic time, which systemd requires. Send READY once the reload has succeeded or
        failed."""
        is_reloading = view.reload is not None
        if is_reloading == self._is_reloading:
            return
        started = {"RELOADING": 1, "MONOTONIC_USEC": int(now * 1e6)}
        if self._notifier.send(**(started if is_reloading else {"READY": 1})):
            self._is_reloading = is_reloading

    def _send_stopping(self, view: View) -> None:
        if not self._is_stopping and view.stopping is not None:
            self._is_stopping = self._notifier.send(STOPPING=1)

    def _extend(self, view: View, now: float) -> None:
        """Ask systemd for more time during a stop, a reload, or a start that makes progress. The supervisor's own
        limits end all three in time."""
        is_starting = not (self._is_ready or view.breaker.is_open)
        transitions = (is_starting, view.reload is not None, view.stopping is not None)
        if transitions != self._transitions:
            self._transitions, self._extended_at = transitions, float("-inf")
        if (
            any(transitions)
            and now - self._extended_at >= EXTENSION / 3
            and self._notifier.send(EXTEND_TIMEOUT_USEC=_EXTENSION)
        ):
            self._extended_at = now

    def _send_status(self, view: View) -> None:
        status = summary(view)
        if status != self._status and self._notifier.send(STATUS=status):
            self._status = status

    def _ping_watchdog(self, now: float) -> None:
        """Ping systemd's watchdog if it is time. Only the event loop calls this, so a parent that hangs misses the
        watchdog's deadline."""
        watchdog = self._notifier.watchdog
        if watchdog is not None and now - self._pinged_at >= watchdog / 3 and self._notifier.send(WATCHDOG=1):
            self._pinged_at = now


def summary(view: View) -> str:
    """The state of the service in one line."""
    running = sum(len(child.running) for child in view.claiming())
    ready = f"{view.serving()} of {view.target} workers ready"
    line = f"{report.state(view)}: {ready}, {counted(running, 'task')} running"
    trouble = view.breaker.cause or report.degraded(view)
    return f"{line}; {trouble}" if trouble else line


def drain_line(view: View, now: float) -> str:
    """The line to print when a stop waits for running tasks, with the time left; empty if no task runs."""
    running = sum(len(child.running) for child in view.claiming())
    if view.stopping is None or view.stopping.killing or not running:
        return ""
    tasks = counted(running, "task that runs", "tasks that run")
    left = max(0.0, view.stopping.deadline - now)
    return f"waiting up to {left:.0f} s for {tasks}; a second Ctrl-C cancels, a third kills; interrupted tasks rerun"


def start_lines(view: View, store_url: str) -> list[str]:
    """The lines to print when all workers are ready."""
    workers = counted(view.target, "worker")
    where = f"embedded store {store_url}" if STORE in view.seats else f"store {store_url}"
    worker = next((child for child in view.claiming() if child.served), None)
    if worker is None:
        return [f"{workers} ready, {where}", "submit work with: supervisor submit TEXT; Ctrl-C drains and ends"]
    more = f" and {worker.served_more} more" if worker.served_more else ""
    return [
        f"{workers} ready, {where}",
        f"handlers: {', '.join(worker.served)}{more}",
        f"submit work with: supervisor submit --name {quote(worker.served[0])} --data JSON; Ctrl-C drains and ends",
    ]


# Measures memory and CPU of the children with psutil. A child that cannot be measured is left out, without an error.


class Stats:
    """The measurements of the children. It keeps a psutil object for each child, because CPU use is the difference
    between two measurements."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}

    def measure(self, pids: set[int]) -> dict[int, Usage]:
        """The usage of these processes by pid, without those that cannot be measured. Other processes are forgotten."""
        self._known = {pid: process for pid, process in self._known.items() if pid in pids}
        return {pid: usage for pid in pids if (usage := self._usage(pid)) is not None}

    def _usage(self, pid: int) -> Usage | None:
        try:
            known = self._known.get(pid)
            process = self._known[pid] = known or psutil.Process(pid)
            with process.oneshot():
                percent, used = process.cpu_percent(), process.cpu_times()
                seconds = used.user + used.system
                if known is None:  # a first measurement: its value covers the time since the start of the process
                    percent = round(100 * seconds / max(0.01, time.time() - process.create_time()), 1)
                return Usage(percent, process.memory_info().rss, seconds)
        except (psutil.Error, OSError):
            return None
