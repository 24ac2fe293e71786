"""The progress of long work on standard error: a line that changes on a terminal, else a line from time to time."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from holdfast.core.words import counted, duration
from holdfastd.cli.common import output

if TYPE_CHECKING:
    from rich.progress import Progress

    from holdfast.core.progress import Progress as TaskProgress


# The progress of long work in words: how much is done, how fast, and how long the rest takes.

PERIOD = 10.0  # seconds between two lines
SLOW = 10.0  # a second; a rate below this is shown with a decimal


class WorkRate:
    """The progress of some work in words. `noun` and `verb` name the work, for example `task` and `cleared`. `total`:
    None if unknown; `is_estimate`: the total may be wrong. `clock`: monotonic, in seconds."""

    def __init__(
        self,
        noun: str,
        verb: str,
        total: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        is_estimate: bool = False,
    ) -> None:
        self.total = total
        self._is_estimate = is_estimate
        self._noun, self._verb = noun, verb
        self._clock = clock
        self._begun = clock()
        self._line_at = self._begun + PERIOD

    def text(self, done: int) -> str:
        """The progress, for example `1200 of 5000 tasks cleared, 400 a second, 10s left`."""
        rate = done / max(self._clock() - self._begun, 0.001)
        shown = f"{rate:.0f}" if rate >= SLOW or not rate else f"{rate:.1f}"
        return f"{self._count(done)} {self._verb}, {shown} a second{self._left(done, rate)}"

    def line(self, done: int) -> str:
        """The text, at most once in PERIOD seconds; else empty. The first text comes after PERIOD seconds."""
        now = self._clock()
        if now < self._line_at:
            return ""
        self._line_at = now + PERIOD
        return self.text(done)

    def _count(self, done: int) -> str:
        if self.total is None:
            return counted(done, self._noun)
        if self._is_estimate:
            return f"{done} of about {counted(max(done, self.total), self._noun)}"
        return f"{done} of {counted(self.total, self._noun)}"

    def _left(self, done: int, rate: float) -> str:
        if self.total is None or not rate or done > self.total:
            return ""
        return f", {duration((self.total - done) / rate)} left"


class WorkProgress:
    """Shows the progress of long work on standard error; a context manager. Call `show` with the number that is done so
    far. The arguments are those of WorkRate."""

    def __init__(self, noun: str, verb: str, total: int | None = None, *, is_estimate: bool = False) -> None:
        self._rate = WorkRate(noun, verb, total, is_estimate=is_estimate)
        self._bar = _bar(total) if sys.stderr.isatty() else None
        self._task = self._bar.add_task(self._rate.text(0), total=total) if self._bar else None

    def show(self, done: int, total: int | None = None) -> None:
        """Show that `done` items of the work are done. `total`: the total, if it became known only now."""
        self._rate.total = self._rate.total if total is None else total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=self._rate.text(done), completed=done, total=self._rate.total)
        elif line := self._rate.line(done):
            output.note(line)

    def __enter__(self) -> WorkProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()


# The progress that the handler of a task shows.

BAR = 24  # characters
LINE_PERIOD = 1.0  # seconds between two lines where there is no terminal


class TaskProgressLine:
    """Shows the progress of one task on standard error: one line that changes on a terminal, else at most a line a
    second."""

    def __init__(self) -> None:
        self._is_on = sys.stderr.isatty()
        self._is_shown = False
        self._line_at = -math.inf
        self._left_out: TaskProgress | None = None

    def show(self, progress: TaskProgress) -> None:
        if self._is_on:
            share = progress.share
            bar = "" if share is None else f"{'━' * round(BAR * share):╌<{BAR}} "
            sys.stderr.write(f"\r{bar}{output.safe(str(progress))}\x1b[K")
            sys.stderr.flush()
            self._is_shown = True
        elif (now := time.monotonic()) >= self._line_at:
            self._line_at = now + LINE_PERIOD
            self._left_out = None
            output.note(f"progress: {progress}")
        else:
            self._left_out = progress

    def end(self) -> None:
        """Leave the last progress on the screen, or print it if it was left out."""
        if self._is_shown:
            sys.stderr.write("\n")
            self._is_shown = False
        elif self._left_out is not None:
            output.note(f"progress: {self._left_out}")

    def clear(self) -> None:
        """Remove the line, because something else is printed now."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_shown = False


def _bar(total: int | None) -> Progress:
    """The progress bar. It vanishes at the end of the work, because the command itself prints the result."""
    from rich.console import Console  # slow to import, and most commands show no progress
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = [BarColumn()] if total else []
    return Progress(
        TextColumn("{task.description}"), *bar, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
