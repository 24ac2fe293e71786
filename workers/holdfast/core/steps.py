"""Steps of a task: results that its handler has recorded, in order. Later runs get the recorded results. No I/O is done
here.

A step stands in the store as `TURN MILLISECONDS NAME`, a newline, and its result as JSON. A newline, a `#` and a note
may follow: JSON with the arguments of the step's function in brief, and how long the function took.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from holdfast.core.plain_json import UNREADABLE_JSON

MOST_STEPS = 1000  # of a task; the scripts of the store hold the same bound
LONGEST_NAME = 200  # bytes
NOTE = b"\n#"  # begins a note: no line of JSON begins with it

# The names under which a sleep, a question and its answer are recorded. No step has a name that begins with MARK.
MARK = "\t"
SLEEP = f"{MARK}sleep"
QUESTION = f"{MARK}question "
ANSWER = f"{MARK}answer"
SHOWN = 100  # characters of a question, in its name
_MARKED = {SLEEP: "a sleep", ANSWER: "an answer"}


class StepVerdict(StrEnum):
    """The answer of the store to a step."""

    OK = "OK"
    LOST = "LOST"  # another worker has claimed the task since, or the task has ended
    OTHER = "OTHER"  # another step stands at this place
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class StepKept:
    """The answer to recording a step. `name`: the name of the step that the store has at this place."""

    verdict: StepVerdict
    name: str


@dataclass(frozen=True, slots=True)
class SleepKept:
    """The answer to recording a sleep. `name`: the name of the step that the store has at this place. `due_ms`: the end
    of the sleep, by the store's clock; `left_ms`: the time until then."""

    verdict: StepVerdict
    name: str
    due_ms: int = 0
    left_ms: int = 0


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A recorded step. `place`: from 0; `turn`: the turn in which it ran; `at_ms`: when it was recorded, by the store's
    clock; `result`: JSON; `note`: see StepNote."""

    place: int
    name: str
    turn: int
    at_ms: int
    result: bytes
    note: bytes = b""


@dataclass(frozen=True, slots=True)
class StepHead:
    """A recorded step without its result; `size` is the size of the result in bytes."""

    place: int
    name: str
    turn: int
    at_ms: int
    size: int


def read_head(place: int, head: bytes, size: int) -> StepHead:
    """Read a step's head. Raises ValueError if Holdfast did not write the text."""
    turn, at_ms, name = head.decode().split(" ", 2)
    return StepHead(place, name, int(turn), int(at_ms), size)


def read_step(place: int, text: bytes) -> StepRecord:
    """Read a step from a text of the store. Raises ValueError if Holdfast did not write the text."""
    head, _, rest = text.partition(b"\n")
    result, _, note = rest.partition(NOTE)
    turn, at_ms, name = head.decode().split(" ", 2)
    return StepRecord(place, name, int(turn), int(at_ms), result, note)


class StepNote(msgspec.Struct, frozen=True):
    """Facts about a step for people. `arguments`: of its function, in brief. `took_ms`: how long the function ran."""

    took_ms: int
    arguments: dict[str, Any] = {}


MOST_ARGUMENTS = 10  # of a note
LONGEST_ARGUMENT = 60  # characters
_write_note = msgspec.json.Encoder().encode
_read_note = msgspec.json.Decoder(StepNote).decode


def with_note(result: bytes, arguments: dict[str, Any], took_ms: int) -> bytes:
    """The result of a step with a note behind it."""
    some = {str(name): in_brief(value) for name, value in list(arguments.items())[:MOST_ARGUMENTS]}
    return b"%s%s%s" % (result, NOTE, _write_note(StepNote(took_ms, some)))


def note_of(step: StepRecord) -> StepNote | None:
    """The note of a step; None if it has none."""
    try:
        return _read_note(step.note) if step.note else None
    except UNREADABLE_JSON:
        return None


def in_brief(value: object) -> object:
    """A number or a short text as it is, the beginning of a long text, and for other values a sign: `[3]` for a list of
    three items, `<Client>` for an object of this class."""
    match value:
        case None | bool() | float():
            return value
        case int() if value.bit_length() < 64:
            return value
        case str():
            text = value if len(value) <= LONGEST_ARGUMENT else f"{value[: LONGEST_ARGUMENT - 1]}…"
            return text.encode(errors="replace").decode()
        case list() | tuple() | set() | frozenset():
            return f"[{len(value)}]"  # pyright: ignore[reportUnknownArgumentType] - of any items
        case dict():
            return "{…}"
        case _:
            return f"<{type(value).__name__}>"


def shown(name: str) -> str:
    """The name of the step for users: a step, a sleep, a question or an answer."""
    if not name.startswith(MARK):
        return f"step {name!r}"
    return f"question {name.removeprefix(QUESTION)!r}" if name.startswith(QUESTION) else _MARKED.get(name, repr(name))


def question_name(text: str) -> str:
    """The name under which this question is recorded."""
    return QUESTION + "".join(char if char.isprintable() else " " for char in text[:SHOWN])


def flaw_in_name(name: object) -> str:
    """The reason why `name` cannot be the name of a step; empty if it can."""
    if not isinstance(name, str):
        return f"the name of a step must be a text, not {type(name).__qualname__}"
    if not name or not name.isprintable() or len(name.encode(errors="replace")) > LONGEST_NAME:
        return f"the name of a step must be 1 to {LONGEST_NAME} bytes of printable text, not {name[:40]!r}"
    return ""
