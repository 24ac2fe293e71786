"""The progress of `submit` on standard error: a bar on a terminal, else a line from time to time."""

from __future__ import annotations

import sys
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from holdfastd.cli.common import output
from holdfastd.cli.common.work_rate import WorkRate
from holdfastd.cli.submit.submit_rate import SubmitRate
from holdfastd.cli.submit.submit_windows import Tally


class ProgressBar:
    """Shows how many tasks were accepted and, with `wait`, how many of them have settled; a context manager.

    `is_stream`: the tasks come from a file or a pipe. Only for those, or with `wait`, lines are printed where there is
    no terminal.
    """

    def __init__(self, tally: Tally, *, wait: bool, is_stream: bool) -> None:
        self._tally = tally
        self._wait, self._is_stream = wait, is_stream
        self._rate = SubmitRate(tally)
        self._settled = WorkRate("task", "settled")
        self._is_on = (wait or is_stream) and sys.stderr.isatty()
        self._is_above = self._is_on and sys.stdout.isatty()  # asked before a bar takes the place of the stream
        self._bar = Bar(*_columns(wait), console=Console(stderr=True), transient=True, disable=not self._is_on)
        self._task = self._bar.add_task("", total=None)

    def show(self) -> None:
        """Bring it up to date."""
        if self._is_on:
            total = self._tally.accepted if self._wait else None
            self._bar.update(self._task, description=self._text(), completed=self._tally.settled, total=total)
        elif line := self._line():
            output.note(line)

    def _line(self) -> str:
        if self._wait:
            self._settled.total = self._tally.accepted
            return self._settled.line(self._tally.settled)
        return self._rate.line() if self._is_stream else ""

    def _text(self) -> str:
        return self._rate.text() if self._is_stream else "tasks"

    def print(self, line: str) -> None:
        """Print a line on standard output, above the bar if both are on the same terminal."""
        if self._is_above:
            self._bar.console.print(Text(line), soft_wrap=True)
        else:
            click.echo(line)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()


def _columns(wait: bool) -> list[ProgressColumn]:
    settled = [BarColumn(), MofNCompleteColumn()] if wait else []
    return [TextColumn("{task.description}"), *settled, TimeElapsedColumn()]
