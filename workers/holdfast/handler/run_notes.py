"""Notes of a running handler for its worker. The handler's thread writes them, the event loop's thread reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from holdfast.core.delivery import LONGEST_PART
from holdfast.core.outcomes import Outcome
from holdfast.errors import WouldBlockError
from holdfast.handler.failures import outcome_of_error
from holdfast.handler.returned_value import NotJsonError, to_json
from holdfast.os.loop_threads import is_thread_of_loop


class Exits:
    """The asyncio tasks of the handler that have ended with SystemExit. If nobody has read the exception of such a task
    before the handler's end, this exception decides the outcome."""

    __slots__ = ("tasks",)

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    def unnoted(self) -> Outcome | None:
        """The outcome of the first task whose exception nobody has read; None if there is none."""
        for task in self.tasks:
            if task._log_traceback and (error := task.exception()) is not None:
                return outcome_of_error(error)
        return None


class RunNotes:
    """Notes of one run. `progress` is one short line; `checkpoint` is the last one made in this delivery, as JSON.
    `cancelled` tells a handler in a thread to stop. A note is assigned only when its value is finished, so no reader
    sees a half-written one. `on_checkpoint` is called with the size of each checkpoint, in the handler's thread.
    `ending`: the outcome if a sleep, a question, or SystemExit in an asyncio task ends the run; `ended_by` says if this
    outcome counts."""

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
        """The outcome that counts instead of the handler's value; None if the value counts."""
        ending = self.ending
        return ending.unnoted() if isinstance(ending, Exits) else ending

    def exiting(self, task: asyncio.Task[Any]) -> None:
        """Record that an asyncio task of the handler ended with SystemExit. The run goes on, because the handler may
        still await this task and catch the error."""
        if self.ending is None:
            self.ending = Exits()
        if isinstance(self.ending, Exits) and task not in self.ending.tasks:
            self.ending.tasks.append(task)

    def exited(self, error: BaseException) -> None:
        """Record that an asyncio task of the handler ended with SystemExit, and was garbage-collected before anybody
        read its exception."""
        self.ending = self.ended_by() or outcome_of_error(error)

    def keep_checkpoint(self, data: object) -> None:
        """Keep `data` as the checkpoint of this run. Raises NotJsonError."""
        encoded = to_json(data)
        if len(encoded) > self.max_bytes:
            raise NotJsonError(f"a checkpoint of {len(encoded)} bytes: at most {self.max_bytes} are kept")
        self.checkpoint = encoded
        if self.on_checkpoint is not None:
            self.on_checkpoint(len(encoded))

    @property
    def unstored_checkpoint(self) -> bytes | None:
        """The checkpoint, if it is newer than the one that the store is known to have; else None."""
        checkpoint = self.checkpoint
        return None if checkpoint is self._stored else checkpoint

    def stored(self, checkpoint: bytes) -> None:
        """Record that the store has this checkpoint; there may be a newer one by now."""
        self._stored = checkpoint


# The parts of an answer that a handler emits while it runs, and the progress that it shows.


class PartLog:
    """Sends the parts and the progress of one delivery to everybody who follows the task. This base class keeps and
    sends nothing; it serves if a handler is called without a worker, for example in a test."""

    __slots__ = ()

    def show(self, progress: str, remark: str) -> None:
        """Send the progress, and log the remark once. Any thread may call this; it never waits."""

    @property
    def unsent_progress(self) -> str:
        """The last progress, if the store may not have it yet; else an empty text."""
        return ""

    async def emit(self, value: bytes) -> None:
        """Send one part, as JSON. After the end of the delivery the part is dropped."""

    async def end(self) -> None:
        """Wait until the last parts are sent, or until the store has refused them."""


def part_to_json(value: object) -> bytes:
    """The part as JSON. Raises NotJsonError."""
    encoded = to_json(value)
    if len(encoded) > LONGEST_PART:
        raise NotJsonError(
            f"a part of {len(encoded)} bytes: a part may have at most {LONGEST_PART}; emit several smaller parts, or "
            "return the value as the result"
        )
    return encoded


def require_handler_thread() -> None:
    """Raise WouldBlockError if the caller is a coroutine. A call without async would block its event loop, and this
    loop could then not send the part."""
    if not is_thread_of_loop():
        raise WouldBlockError(
            "task.emit_sync works only in the thread of a handler that is a plain function; a coroutine awaits "
            "task.emit(…)"
        )
