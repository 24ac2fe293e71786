"""Steps of a task: results that its handler has recorded, by place; later runs get them again. Pure.

A step stands in the store as `TURN MILLISECONDS NAME`, a newline, and its result as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MOST_STEPS = 1000  # of a task; the scripts of the store hold the same bound
LONGEST_NAME = 200  # bytes

# The names that a sleep, a question and its answer stand under: no step has one that begins so.
MARK = "\t"
SLEEP = f"{MARK}sleep"
QUESTION = f"{MARK}question "
ANSWER = f"{MARK}answer"
SHOWN = 100  # characters of a question, in its name
_MARKED = {SLEEP: "a sleep", ANSWER: "an answer"}


class StepVerdict(StrEnum):
    """The answer of the store to a step."""

    OK = "OK"
    LOST = "LOST"  # the task has been claimed by others since, or has ended
    OTHER = "OTHER"  # another step stands at this place
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class StepKept:
    """The answer to recording a step. `name`: that of the step recorded at the place."""

    verdict: StepVerdict
    name: str


@dataclass(frozen=True, slots=True)
class SleepKept:
    """The answer to recording a sleep. `name`: that of the step recorded at the place. `due_ms`: the end of the sleep,
    by the store's clock; `left_ms`: the time until then."""

    verdict: StepVerdict
    name: str
    due_ms: int = 0
    left_ms: int = 0


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A recorded step. `place`: from 0; `turn`: the one in which it ran; `at_ms`: when it was recorded, by the store's
    clock; `result`: JSON."""

    place: int
    name: str
    turn: int
    at_ms: int
    result: bytes


@dataclass(frozen=True, slots=True)
class StepHead:
    """A recorded step without its result, which has `size` bytes."""

    place: int
    name: str
    turn: int
    at_ms: int
    size: int


def read_head(place: int, head: bytes, size: int) -> StepHead:
    """Reads a step's head. Raises ValueError if Holdfast did not write the text."""
    turn, at_ms, name = head.decode().split(" ", 2)
    return StepHead(place, name, int(turn), int(at_ms), size)


def read_step(place: int, text: bytes) -> StepRecord:
    """Reads a step from a text of the store. Raises ValueError if Holdfast did not write the text."""
    head, _, result = text.partition(b"\n")
    turn, at_ms, name = head.decode().split(" ", 2)
    return StepRecord(place, name, int(turn), int(at_ms), result)


def shown(name: str) -> str:
    """The name of the step for users: a step, a sleep, a question or an answer."""
    if not name.startswith(MARK):
        return f"step {name!r}"
    return f"question {name.removeprefix(QUESTION)!r}" if name.startswith(QUESTION) else _MARKED.get(name, repr(name))


def question_name(text: str) -> str:
    """The name under which this question is recorded."""
    return QUESTION + "".join(char if char.isprintable() else " " for char in text[:SHOWN])


def flaw_in_name(name: object) -> str:
    """The reason why this cannot name a step, or empty."""
    if not isinstance(name, str):
        return f"the name of a step is a text, not {type(name).__qualname__}"
    if not name or not name.isprintable() or len(name.encode(errors="replace")) > LONGEST_NAME:
        return f"the name of a step is 1 to {LONGEST_NAME} bytes of printable text, not {name[:40]!r}"
    return ""
