"""Telling the outside how the service is: systemd after every turn in which something changed, a human once."""

from __future__ import annotations

from collections.abc import Callable

from holdfastd.control import report
from holdfastd.core.slots import STORE, Kind
from holdfastd.core.view import View
from holdfastd.parent.notify import Notifier

EXTENSION = 15.0  # seconds that a drain asks of systemd at a time


class Herald:
    """`announce` prints a line for a human."""

    def __init__(self, notifier: Notifier, announce: Callable[[str], None], store_url: str) -> None:
        self._notifier = notifier
        self._announce = announce
        self._store_url = store_url
        self._status = ""
        self._is_ready = self._is_announced = self._is_stopping = self._is_reloading = False
        self._patted = self._extended = float("-inf")

    def tell(self, view: View, now: float) -> None:
        """Once a turn: whatever is new or due."""
        self._tell_ready(view)
        self._tell_reloading(view, now)
        self._tell_stopping(view, now)
        self._tell_status(view)
        self._pat(now)
        if not self._is_announced and view.stopping is None and report.ready(view) >= view.target:
            self._is_announced = True
            for line in welcome(view, self._store_url):
                self._announce(line)

    def _tell_ready(self, view: View) -> None:
        if not self._is_ready and Kind.WORKER in view.reached:
            self._is_ready = True
            self._notifier.tell(READY=1)

    def _tell_reloading(self, view: View, now: float) -> None:
        """systemd wants the time with it, by its own clock, and READY once it is over, whichever way."""
        is_reloading = view.reload is not None
        if is_reloading and not self._is_reloading:
            self._notifier.tell(RELOADING=1, MONOTONIC_USEC=int(now * 1e6))
        elif self._is_reloading and not is_reloading:
            self._notifier.tell(READY=1)
        self._is_reloading = is_reloading

    def _tell_stopping(self, view: View, now: float) -> None:
        if view.stopping is None:
            return
        if not self._is_stopping:
            self._is_stopping = True
            self._notifier.tell(STOPPING=1)
        if now - self._extended >= EXTENSION / 3:
            self._extended = now
            self._notifier.tell(EXTEND_TIMEOUT_USEC=int(EXTENSION * 1e6))

    def _tell_status(self, view: View) -> None:
        status = summary(view)
        if status != self._status:
            self._status = status
            self._notifier.tell(STATUS=status)

    def _pat(self, now: float) -> None:
        """From the loop itself: a parent that does not turn is not alive, whatever else still runs."""
        if self._notifier.watchdog is not None and now - self._patted >= self._notifier.watchdog / 3:
            self._patted = now
            self._notifier.tell(WATCHDOG=1)


def summary(view: View) -> str:
    """The service in one line."""
    running = sum(len(child.running) for child in view.living(Kind.WORKER))
    line = f"{report.state(view)}: {report.ready(view)} of {view.target} workers ready, {running} tasks running"
    trouble = view.breaker.cause or report.degraded(view)
    return f"{line}; {trouble}" if trouble else line


def welcome(view: View, store_url: str) -> list[str]:
    """What somebody wants to know who has just started it."""
    workers = "1 worker" if view.target == 1 else f"{view.target} workers"
    where = f"embedded store {store_url}" if STORE in view.seats else f"store {store_url}"
    return [f"{workers} ready, {where}", "submit work with: supervisor submit TEXT; Ctrl-C drains and ends"]
