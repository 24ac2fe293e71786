"""A progress bar on standard error if that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from holdfastd.cli.submit.submit_windows import Tally


class ProgressBar:
    """Shows how many of the accepted tasks have settled; a context manager."""

    def __init__(self, tally: Tally, *, visible: bool) -> None:
        self._tally = tally
        columns = (TextColumn("tasks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        is_off = not (visible and sys.stderr.isatty())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True, disable=is_off)
        self._task = self._bar.add_task("tasks", total=None)

    def show(self) -> None:
        """Bring the bar up to date."""
        self._bar.update(self._task, completed=self._tally.settled, total=self._tally.accepted)

    def print(self, line: str) -> None:
        """Print a line on standard output, above the bar if both are on the same terminal."""
        if self._bar.disable or not sys.stdout.isatty():
            click.echo(line)
        else:
            self._bar.console.print(Text(line), soft_wrap=True)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
