"""Sleeps and questions of one delivery: each ends the run, and a later run goes on behind the call.

A sleep is recorded as a step, with the time at which it ends. The first run that calls the sleep ends with RunEnded,
and its worker gives the task back until that time. The next run gets the recorded steps, finds that the sleep is over,
and goes on.

A question and its answer are two steps. The first run that asks the question ends its turn with the question. The first
run of the next turn records the message of that turn as the answer; every later run gets the same answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import anyio
import msgspec

from holdfast.core.outcomes import Asleep, Outcome
from holdfast.core.settle import LONGEST
from holdfast.core.steps import ANSWER, SLEEP, question_name
from holdfast.errors import RunEnded, StepError
from holdfast.handler.returned_value import outcome_of
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.task_steps import Steps, require_handler_thread
from holdfast.os.loop_threads import on_loop

WAITED_FOR = 1000  # ms: the handler itself waits for the end of a sleep of at most this length
DAYS = round(LONGEST / 86400)


QUESTIONS = ("input-required", "auth-required")  # the states in which a question leaves its task

_decode = msgspec.json.Decoder().decode


class GivenAnswer(NamedTuple):
    value: Any


class Pauses:
    """The sleeps and questions of one turn. `turn`: its number. `answer()`: the content of the turn's message; None if
    it has no message. `runner()`: the asyncio task that runs the handler and alone may sleep or ask; None: any asyncio
    task may."""

    __slots__ = ("_answer", "_notes", "_runner", "_steps", "_turn")

    def __init__(
        self,
        steps: Steps,
        notes: RunNotes,
        turn: int,
        answer: Callable[[], object],
        runner: Callable[[], asyncio.Task[None] | None],
    ) -> None:
        self._steps, self._notes, self._turn, self._answer, self._runner = steps, notes, turn, answer, runner

    async def sleep(self, milliseconds: int) -> None:
        """Return if the sleep is over; otherwise end the run here."""
        self._require_own("sleep")
        self._end(await self._slept(self._steps.begin(SLEEP), milliseconds))

    def sleep_in_thread(self, milliseconds: int) -> None:
        """Like `sleep`, for a handler that runs in a thread."""
        require_handler_thread("sleep", SLEEP)
        self._end(on_loop(self._slept, self._steps.begin(SLEEP), milliseconds))

    async def _slept(self, place: int, milliseconds: int) -> Outcome | None:
        step = await self._steps.find(place, SLEEP)
        if step is not None and self._steps.has_come_to(int(step.result)):
            return None
        kept = await self._steps.keep_sleep(place, SLEEP, milliseconds)
        if kept.left_ms > WAITED_FOR:
            return Asleep(kept.due_ms)
        await anyio.sleep(kept.left_ms / 1000)
        return None

    async def ask(self, text: str, state: str) -> Any:
        """Return the answer. If there is no answer yet, end the run here."""
        self._require_own("question")
        return self._answered(await self._asked(*self._begin_question(text, state), text, state))

    def ask_in_thread(self, text: str, state: str) -> Any:
        """Like `ask`, for a handler that runs in a thread."""
        places = self._begin_question(text, state)
        require_handler_thread("question", question_name(text))
        return self._answered(on_loop(self._asked, *places, text, state))

    def _begin_question(self, text: str, state: str) -> tuple[int, int]:
        """Begin a question; returns the numbers of its step and of the step that will hold its answer."""
        if flaw := flaw_in_question(text, state):
            raise StepError(flaw)
        return self._steps.begin(question_name(text)), self._steps.begin(ANSWER)

    async def _asked(self, place: int, answer_place: int, text: str, state: str) -> GivenAnswer | Outcome:
        name = question_name(text)
        asked = await self._steps.find(place, name)
        answered = await self._steps.find(answer_place, ANSWER)
        if answered is not None:
            return GivenAnswer(_decode(answered.result))
        if asked is not None and asked.turn < self._turn:
            return GivenAnswer(await self._steps.keep(answer_place, ANSWER, self._answer()))
        if asked is None:
            await self._steps.keep(place, name, {"state": state, "question": text})
        return outcome_of({"state": state, "prompt": text}, self._notes.max_bytes)

    def _answered(self, answer: GivenAnswer | Outcome) -> Any:
        if not isinstance(answer, GivenAnswer):
            self._end(answer)
            return None
        return answer.value

    def _end(self, ending: Outcome | None) -> None:
        if ending is not None:
            self._notes.ending = ending
            raise RunEnded

    def _require_own(self, call: str) -> None:
        if self._runner() not in (None, asyncio.current_task()):
            raise StepError(
                f"task.{call} was called in another asyncio task than the handler's, as in a task group or in "
                "asyncio.gather: the call ends the run of the handler, so make it in the handler itself, when the "
                "other asyncio tasks have ended"
            )


def milliseconds(seconds: float | timedelta, minutes: float, hours: float, days: float) -> int:
    """The length of a sleep in milliseconds. Raises StepError if it is not allowed."""
    given = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    try:
        length = given + 60 * minutes + 3600 * hours + 86400 * days
        if 0 <= length <= LONGEST:
            return round(1000 * length)
    except (TypeError, OverflowError):
        pass
    raise StepError(
        f"task.sleep takes numbers that add up to 0 s to {DAYS} days, not seconds={seconds!r:.40}, "
        f"minutes={minutes!r:.40}, hours={hours!r:.40}, days={days!r:.40}"
    )


def flaw_in_question(text: object, state: object) -> str:
    """The reason why this question cannot be asked; empty if it can."""
    if not isinstance(text, str) or not text.strip():
        return f"task.question: text must be a string that is not empty, not {text!r:.40}"
    if state not in QUESTIONS:
        return f"task.question: state must be {' or '.join(QUESTIONS)}, not {state!r:.40}"
    return ""
