"""How far a handler is: a number, a total and a text, which a record keeps as one short line such as `12/40 importing`.

A record has little room, and a handler may give any value. So numbers that make no sense are bounded or left out, a
long text is cut, and a remark says so.
"""

from __future__ import annotations

import math
import re
import reprlib
from dataclasses import dataclass

MOST_BYTES = 64  # of the line: a longer field would make the store's record take much more memory
LARGEST = 10**15

_LINE = re.compile(r"(?P<done>\d{1,16}(?:\.\d{1,6})?)(?:/(?P<total>\d{1,16}(?:\.\d{1,6})?))?(?: (?P<text>.*))?")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a handler is. `done` and `total`: None if the handler gave no such number. `text`: what the handler does
    now."""

    done: float | None = None
    total: float | None = None
    text: str = ""

    @classmethod
    def read(cls, line: str) -> Progress:
        """The progress in the line of a record. A line that begins with no number is a text alone."""
        found = _LINE.fullmatch(line)
        if found is None:
            return cls(text=line)
        done, total = _read(found["done"]), _read(found["total"])
        if total is not None and (not total or done is None or done > total):
            return cls(text=line)
        return cls(done, total, found["text"] or "")

    @property
    def share(self) -> float | None:
        """The share that is done, from 0 to 1; None without a total."""
        return None if self.total is None or self.done is None else self.done / self.total

    def __str__(self) -> str:
        numbers = "" if self.done is None else _spelled(self.done)
        if self.total is not None:
            numbers += f"/{_spelled(self.total)}"
        return f"{numbers} {self.text}".strip()


def line_of(done: object, total: object = None, text: object = "") -> tuple[str, str]:
    """The line for the values that a handler gave. Also a remark on values that were changed or left out, such as a
    total of 0; empty if there are none."""
    remarks: list[str] = []
    number = None if done is None else _number("done", done, remarks)
    whole = None if total is None else _number("total", total, remarks)
    if whole is not None and not whole:
        remarks.append("total is 0: it is left out")
        whole = None
    if number is None:
        whole = None
    elif whole is not None and number > whole:
        remarks.append(f"done {_spelled(number)} is more than total {_spelled(whole)}: total is shown")
        number = whole
    line = str(Progress(number, whole, _one_line(text)))
    return cut(line, remarks), "; ".join(remarks)


def line_of_value(value: object) -> tuple[str, str]:
    """The line for a value that a generator yields, and a remark if the value was cut (see `line_of`). A text stays
    unchanged; any other value is shortened."""
    remarks: list[str] = []
    return cut(_one_line(value), remarks), "; ".join(remarks)


def cut(line: str, remarks: list[str]) -> str:
    """The line as valid UTF-8 of at most MOST_BYTES bytes."""
    encoded = line.encode(errors="replace")
    if len(encoded) <= MOST_BYTES:
        return encoded.decode()
    remarks.append(f"the text is too long: {MOST_BYTES} bytes are shown")
    return encoded[: MOST_BYTES - len("…".encode())].decode(errors="ignore") + "…"


def _number(name: str, value: object, remarks: list[str]) -> float | None:
    try:
        number = math.nan if isinstance(value, str) else float(value)  # type: ignore[arg-type]  # it may be anything
    except OverflowError:
        number = math.inf if value > 0 else -math.inf  # type: ignore[operator]  # an int of hundreds of digits
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        remarks.append(f"{name} is no number: it is left out")
        return None
    if not 0 <= number <= LARGEST:
        remarks.append(f"{name} {number:g} is not from 0 to {LARGEST:g}")
        return 0.0 if number < 0 else float(LARGEST)
    return round(number, 3)


def _one_line(text: object) -> str:
    try:
        given = text[: 4 * MOST_BYTES] if isinstance(text, str) else reprlib.repr(text)
    except ValueError:  # Python does not write an int of thousands of digits
        given = type(text).__name__
    return " ".join(given.split())


def _spelled(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:.3f}".rstrip("0")


def _read(number: str | None) -> float | None:
    if number is None:
        return None
    value = float(number)
    return int(value) if value == int(value) else value
