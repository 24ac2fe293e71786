"""The progress of long work on standard error: a line that changes on a terminal, else a line from time to time."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from holdfastd.cli.common import output
from holdfastd.cli.common.work_rate import WorkRate

if TYPE_CHECKING:
    from rich.progress import Progress


class WorkProgress:
    """A context manager; `show` is called with the number that is done so far. The arguments are those of WorkRate."""

    def __init__(self, noun: str, verb: str, total: int | None = None, *, is_estimate: bool = False) -> None:
        self._rate = WorkRate(noun, verb, total, is_estimate=is_estimate)
        self._bar = _bar(total) if sys.stderr.isatty() else None
        self._task = self._bar.add_task(self._rate.text(0), total=total) if self._bar else None

    def show(self, done: int, total: int | None = None) -> None:
        """Bring it up to date; `total` where it is known only now."""
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


def _bar(total: int | None) -> Progress:
    """It vanishes with the work: what was done is said by the command itself."""
    from rich.console import Console  # slow to import, and most commands show no progress
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = [BarColumn()] if total else []
    return Progress(
        TextColumn("{task.description}"), *bar, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
