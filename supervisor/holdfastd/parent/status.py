"""Telling the outside how the service is: systemd after every turn in which something changed, a human once."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.plurals import counted
from holdfastd.control import report
from holdfastd.core.slots import STORE, ChildKind
from holdfastd.core.view import View
from holdfastd.parent.systemd_notify import Notifier

EXTENSION = 15.0  # seconds that a start, a reload or a drain asks of systemd at a time

_EXTENSION = int(EXTENSION * 1e6)


class StatusNotifier:
    """`announce` prints a line for a human."""

    def __init__(self, notifier: Notifier, announce: Callable[[str], None], store_url: str) -> None:
        self._notifier = notifier
        self._announce = announce
        self._store_url = store_url
        self._status = ""
        self._is_ready = self._is_announced = self._is_stopping = self._is_reloading = self._is_bidden = False
        self._patted = self._extended = float("-inf")
        self._passing = (False, False, False)

    def tell(self, view: View, now: float) -> None:
        """Once a turn: whatever is new or due."""
        self._tell_ready(view)
        self._tell_reloading(view, now)
        self._tell_stopping(view)
        self._extend(view, now)
        self._tell_status(view)
        self._pat(now)
        if not self._is_announced and view.stopping is None and report.ready(view) >= view.target:
            self._is_announced = True
            for line in welcome(view, self._store_url):
                self._announce(line)
        if not self._is_bidden and (line := farewell(view, now)):
            self._is_bidden = True
            self._announce(line)

    def _tell_ready(self, view: View) -> None:
        if not self._is_ready and ChildKind.WORKER in view.reached:
            self._is_ready = self._notifier.tell(READY=1)

    def _tell_reloading(self, view: View, now: float) -> None:
        """systemd wants the time with it, by its own clock, and READY once it is over, whichever way."""
        is_reloading = view.reload is not None
        if is_reloading == self._is_reloading:
            return
        started = {"RELOADING": 1, "MONOTONIC_USEC": int(now * 1e6)}
        if self._notifier.tell(**(started if is_reloading else {"READY": 1})):
            self._is_reloading = is_reloading

    def _tell_stopping(self, view: View) -> None:
        if not self._is_stopping and view.stopping is not None:
            self._is_stopping = self._notifier.tell(STOPPING=1)

    def _extend(self, view: View, now: float) -> None:
        """While it stops, reloads, or starts and makes headway: all end by limits of our own."""
        is_starting = not (self._is_ready or view.breaker.is_open)
        passing = (is_starting, view.reload is not None, view.stopping is not None)
        if passing != self._passing:
            self._passing, self._extended = passing, float("-inf")
        if (
            any(passing)
            and now - self._extended >= EXTENSION / 3
            and self._notifier.tell(EXTEND_TIMEOUT_USEC=_EXTENSION)
        ):
            self._extended = now

    def _tell_status(self, view: View) -> None:
        status = summary(view)
        if status != self._status and self._notifier.tell(STATUS=status):
            self._status = status

    def _pat(self, now: float) -> None:
        """From the loop itself: a parent that does not turn is not alive, whatever else still runs."""
        watchdog = self._notifier.watchdog
        if watchdog is not None and now - self._patted >= watchdog / 3 and self._notifier.tell(WATCHDOG=1):
            self._patted = now


def summary(view: View) -> str:
    """The service in one line."""
    running = sum(len(child.running) for child in view.claiming())
    line = (
        f"{report.state(view)}: {report.ready(view)} of {view.target} workers ready, {counted(running, 'task')} running"
    )
    trouble = view.breaker.cause or report.degraded(view)
    return f"{line}; {trouble}" if trouble else line


def farewell(view: View, now: float) -> str:
    """What somebody wants to know who has asked it to stop and sees it stay; empty where nothing is waited for."""
    running = sum(len(child.running) for child in view.claiming())
    if view.stopping is None or view.stopping.killing or not running:
        return ""
    tasks = counted(running, "task that runs", "tasks that run")
    left = max(0.0, view.stopping.deadline - now)
    return f"waiting up to {left:.0f} s for {tasks}; a second Ctrl-C cancels, a third kills: what is cut off runs again"


def welcome(view: View, store_url: str) -> list[str]:
    """What somebody wants to know who has just started it."""
    workers = counted(view.target, "worker")
    where = f"embedded store {store_url}" if STORE in view.seats else f"store {store_url}"
    return [f"{workers} ready, {where}", "submit work with: supervisor submit TEXT; Ctrl-C drains and ends"]
