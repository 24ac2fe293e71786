"""A running handler's notes to its worker, written in the handler's thread and read in the event loop's."""

from __future__ import annotations

import asyncio
import reprlib
from collections.abc import Callable
from typing import Any

from holdfast.core.outcomes import Outcome
from holdfast.core.settle import one_line
from holdfast.handler.failures import bounded, outcome_of_error
from holdfast.handler.returned_value import NotJsonError, to_json

PROGRESS_BYTES = 64


class Exits:
    """asyncio tasks of the handler that have ended with SystemExit. They count if nobody has taken note by its end."""

    __slots__ = ("tasks",)

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    def unnoted(self) -> Outcome | None:
        """The outcome of the first one whose exception nobody has looked at."""
        for task in self.tasks:
            if task._log_traceback and (error := task.exception()) is not None:
                return outcome_of_error(error)
        return None


class RunNotes:
    """`progress` is one short line, `checkpoint` the last one made in this delivery, as JSON; `cancelled` tells a
    handler in a thread to stop. Single assignments of finished values: no reader sees half of one. `on_checkpoint` is
    called with the size of each checkpoint, in the handler's thread. `ending`: the outcome of a run that a sleep or a
    question ends, or SystemExit in an asyncio task of the handler; `ended_by` tells whether one counts."""

    __slots__ = ("_stored", "cancelled", "checkpoint", "ending", "max_bytes", "on_checkpoint", "progress")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.cancelled = False
        self.progress = ""
        self.ending: Outcome | Exits | None = None
        self.checkpoint: bytes | None = None
        self.on_checkpoint: Callable[[int], None] | None = None
        self._stored: bytes | None = None

    def ended_by(self) -> Outcome | None:
        """The outcome that counts whatever the handler returns; None if that counts."""
        ending = self.ending
        return ending.unnoted() if isinstance(ending, Exits) else ending

    def exiting(self, task: asyncio.Task[Any]) -> None:
        """An asyncio task that the handler has started ended with SystemExit. Somebody may still await it."""
        if self.ending is None:
            self.ending = Exits()
        if isinstance(self.ending, Exits) and task not in self.ending.tasks:
            self.ending.tasks.append(task)

    def exited(self, error: BaseException) -> None:
        """An asyncio task that the handler has started ended with SystemExit, and was forgotten."""
        self.ending = self.ended_by() or outcome_of_error(error)

    def show(self, value: object) -> None:
        """Any value a generator yields is progress: a text as it is, others in brief."""
        text = value[: 4 * PROGRESS_BYTES] if isinstance(value, str) else reprlib.repr(value)
        self.progress = bounded(one_line(text), PROGRESS_BYTES)

    def keep_checkpoint(self, data: object) -> None:
        """Raises NotJsonError."""
        encoded = to_json(data)
        if len(encoded) > self.max_bytes:
            raise NotJsonError(f"a checkpoint of {len(encoded)} bytes: at most {self.max_bytes} are kept")
        self.checkpoint = encoded
        if self.on_checkpoint is not None:
            self.on_checkpoint(len(encoded))

    @property
    def unstored_checkpoint(self) -> bytes | None:
        """The checkpoint, if it is a newer one than the store is known to have."""
        checkpoint = self.checkpoint
        return None if checkpoint is self._stored else checkpoint

    def stored(self, checkpoint: bytes) -> None:
        """The store has this checkpoint; there may be a newer one by now."""
        self._stored = checkpoint
