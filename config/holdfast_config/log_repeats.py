"""Bounds how often one event is logged: within a minute so many lines of it are written, the rest is counted.

A line that names a task, a process or a schedule is a fact of its own, of which many are written; of any other event,
few lines say all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

WINDOW = 60.0  # seconds
MOST, MOST_OF_SUBJECTS = 30, 1000  # lines of one event in a window, of one process
MOST_KINDS = 1000  # events that are counted apart; those beyond share a count
SUBJECTS = frozenset({"task", "slot", "incarnation", "schedule"})


class LineKind(NamedTuple):
    """Lines of one event count together."""

    logger: str
    level: str
    event: str


OTHERS = LineKind("holdfast", "warning", "other events")


@dataclass(slots=True)
class _Window:
    until: float
    written: int = 0
    withheld: int = 0

    def is_over(self, now: float) -> bool:
        """True if nothing is to be told of it."""
        return self.until <= now and not self.withheld


@dataclass(slots=True)
class RepeatLimit:
    """`next_end`: when the first window ends in which something was withheld; None: nothing was."""

    next_end: float | None = None
    _windows: dict[LineKind, _Window] = field(default_factory=dict[LineKind, _Window])

    def admits(self, kind: LineKind, most: int, now: float) -> bool:
        """True if this line is to be written; else it is counted."""
        window = self._window(kind, now)
        if window.written < most:
            window.written += 1
            return True
        window.withheld += 1
        self.next_end = window.until if self.next_end is None else min(self.next_end, window.until)
        return False

    def ended(self, now: float) -> Iterator[tuple[LineKind, int]]:
        """The kinds of which lines were withheld in windows that have ended, and how many; each once."""
        over = {kind: window for kind, window in self._windows.items() if window.until <= now}
        for kind in over:
            del self._windows[kind]
        self.next_end = min((window.until for window in self._windows.values() if window.withheld), default=None)
        return iter([(kind, window.withheld) for kind, window in over.items() if window.withheld])

    def clear(self) -> None:
        """Forget everything, in a process that was forked: its parent tells what it has withheld."""
        self._windows.clear()
        self.next_end = None

    def _window(self, kind: LineKind, now: float) -> _Window:
        """The window in which this line counts. One of which lines were withheld goes on until they are told."""
        if kind not in self._windows and len(self._windows) >= MOST_KINDS:
            self._windows = {known: window for known, window in self._windows.items() if not window.is_over(now)}
            kind = OTHERS if len(self._windows) >= MOST_KINDS else kind
        window = self._windows.get(kind)
        if window is None or window.is_over(now):
            window = self._windows[kind] = _Window(now + WINDOW)
        return window


def most_of(fields: Mapping[str, object]) -> int:
    """Lines a minute of an event with these fields."""
    return MOST if SUBJECTS.isdisjoint(fields) else MOST_OF_SUBJECTS
