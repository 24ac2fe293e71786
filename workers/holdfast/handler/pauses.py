"""Sleeps of one delivery: each ends the run, and a later run goes on behind it.

A sleep stands among the steps of the task, with the time at which it ends. The run that comes to it ends with RunEnded,
its worker gives the task back until that time, and the run after that comes by the steps and by the sleep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import anyio
import anyio.from_thread

from holdfast.core.outcomes import Asleep, Outcome
from holdfast.core.retry import LONGEST
from holdfast.core.steps import SLEEP
from holdfast.errors import RunEnded, StepError
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.steps import Steps, require_handler_thread

WAITED_FOR = 1000  # ms: for the end of so short a sleep the handler waits itself
DAYS = round(LONGEST / 86400)


class Pauses:
    """`is_own`: the code that calls is the handler itself, and none that runs beside it."""

    __slots__ = ("_is_own", "_notes", "_steps")

    def __init__(self, steps: Steps, notes: RunNotes, is_own: Callable[[], bool]) -> None:
        self._steps = steps
        self._notes = notes
        self._is_own = is_own

    async def sleep(self, milliseconds: int) -> None:
        """Return when the sleep is over; a run that comes before that ends here."""
        self._require_own("sleep")
        self._end(await self._slept(self._steps.begin(SLEEP), milliseconds))

    def sleep_in_thread(self, milliseconds: int) -> None:
        """As `sleep`, for a handler that runs in a thread."""
        require_handler_thread("sleep", SLEEP)
        self._end(anyio.from_thread.run(self._slept, self._steps.begin(SLEEP), milliseconds))

    async def _slept(self, place: int, milliseconds: int) -> Outcome | None:
        step = await self._steps.find(place, SLEEP)
        if step is not None and self._steps.has_come_to(int(step.result)):
            return None
        kept = await self._steps.keep_sleep(place, SLEEP, milliseconds)
        if kept.left_ms > WAITED_FOR:
            return Asleep(kept.due_ms)
        await anyio.sleep(kept.left_ms / 1000)
        return None

    def _end(self, ending: Outcome | None) -> None:
        if ending is not None:
            self._notes.ending = ending
            raise RunEnded

    def _require_own(self, call: str) -> None:
        if not self._is_own():
            raise StepError(
                f"task.{call} is called in an asyncio task of its own, as in a task group or in asyncio.gather: "
                "it ends the run of the handler, so call it in the handler itself, when what runs beside it has ended"
            )


def milliseconds(seconds: float | timedelta, minutes: float, hours: float, days: float) -> int:
    """The length of a sleep. Raises StepError."""
    given = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    try:
        length = given + 60 * minutes + 3600 * hours + 86400 * days
        if 0 <= length <= LONGEST:
            return round(1000 * length)
    except (TypeError, OverflowError):
        pass
    raise StepError(
        f"task.sleep takes numbers, which make 0 s to {DAYS} days together, not seconds={seconds!r:.40}, "
        f"minutes={minutes!r:.40}, hours={hours!r:.40}, days={days!r:.40}"
    )


def is_own_task(runner: asyncio.Task[None] | None) -> bool:
    """True in the asyncio task that runs the handler; None: any one does."""
    return runner is None or asyncio.current_task() is runner
