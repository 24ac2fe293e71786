"""Prints the answers of a command that must go on if standard output fails, as its tasks are already accepted."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from holdfast.exits import Exit
from holdfastd.cli.common.streams import OutputError, silence


@dataclass
class PrintedAnswers:
    """`lost`: the reason why answers were not printed, or empty; `status`: the exit status that follows from it."""

    lost: str = ""
    status: Exit = Exit.OK

    @contextmanager
    def writing(self) -> Generator[None]:
        """A context for printing; after the first write error nothing more is written."""
        try:
            yield
        except BrokenPipeError:
            self._lose("standard output was closed", Exit.OK)
        except OutputError as error:
            self._lose(str(error), Exit.OUTPUT)

    def _lose(self, why: str, status: Exit) -> None:
        self.lost, self.status = why, status
        silence()
