"""Answers of a command that goes on when nobody takes them: its tasks are accepted all the same."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from holdfast.exits import Exit
from holdfastd.cli.common.streams import OutputError, silence


@dataclass
class PrintedAnswers:
    """`lost`: why not every answer was printed, or empty; `status`: the exit status that this alone would give."""

    lost: str = ""
    status: Exit = Exit.OK

    @contextmanager
    def writing(self) -> Generator[None]:
        """Print something. Once standard output is lost, nothing more is written to it."""
        try:
            yield
        except BrokenPipeError:
            self._lose("standard output is read no more", Exit.OK)
        except OutputError as error:
            self._lose(str(error), Exit.OUTPUT)

    def _lose(self, why: str, status: Exit) -> None:
        self.lost, self.status = why, status
        silence()
