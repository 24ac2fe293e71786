"""Parses lanes and rates: a text such as `bindu:tasks:high=6,bindu:tasks=3` or `A:A:B`, a list, or a table of a file.

The parsers raise ValueError. Its text is the end of a sentence that names the allowed values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from holdfast_config import bounds, durations

T = TypeVar("T")

LONGEST_NAME = 128
HEAVIEST = 1000
MOST = 1_000_000
AT_ONCE_MS = 100  # the default burst of a rate is the number of starts that it allows in this time
LONGEST_PERIOD_MS = 366 * 86_400_000
SHORTEST = 0.001  # seconds: the least timeout of a run

HEAD, TAIL = "head", "tail"  # the two ends of a list: workers take tasks from one of them

_NAME = re.compile(r"[^{}\s]+")
_OWN = re.compile(r"\{(.*)\}:lane:(.*)")
_RATE = re.compile(r"(\d{1,9}) ?/ ?(\S+)", re.ASCII)
_OPTIONS = ("weight", "rate", "burst", "limit", "keys", "timeout", "end")


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of starts: at most `count` tasks start in `period_ms`, evenly spaced. After an idle time up to `burst`
    tasks start at once."""

    count: int
    period_ms: int
    burst: int

    def __str__(self) -> str:
        return f"{self.count}/{_period(self.period_ms)}"

    @property
    def stored(self) -> str:
        """The rate as the store keeps it: count/period in milliseconds/burst."""
        return f"{self.count}/{self.period_ms}/{self.burst}"


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane with its weight and limits. `limit`: the maximum number of running tasks. `keys`: the maximum number of
    running tasks with the same concurrency key. `timeout`: the seconds that one run may take. `end`: the end of the
    list from which workers take tasks."""

    name: str
    weight: int = 1
    rate: Rate | None = None
    limit: int | None = None
    keys: int | None = None
    timeout: float | None = None
    end: str = HEAD

    def __str__(self) -> str:
        bounds = {"rate": self.rate, "burst": self.rate and self.rate.burst, "limit": self.limit, "keys": self.keys}
        parts = [f"{key}={value}" for key, value in bounds.items() if value]
        parts += [f"timeout={self.timeout:g}"] if self.timeout else []
        parts += [f"end={self.end}"] if self.end != HEAD else []
        return ";".join([f"{self.name}={self.weight}", *parts])


def lanes(value: object) -> tuple[Lane, ...]:
    """Parse lanes from a text, a list of texts, or a table of options by lane."""
    parsed = tuple(_each(value))
    if not parsed:
        raise ValueError("must be the name of a queue, or several: a,b or a=6,b=3")
    if len({lane.name for lane in parsed}) < len(parsed):
        raise ValueError("names a lane twice")
    return parsed


def rate(value: object, burst: object = None) -> Rate:
    """Parse a rate such as `100/m`: a number of starts and a time. The time is s, m, h, d, or a duration such as
    10s."""
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    period_ms = _milliseconds(match[2]) if match else 0
    count = int(match[1]) if match else 0
    if not 1 <= count <= MOST or not 1 <= period_ms <= LONGEST_PERIOD_MS:
        raise ValueError(f"a rate must be a number and a time, as in 10/s, 100/m, 5/h or 20/10s, not {value!r}")
    return Rate(count, period_ms, _whole("burst", burst, MOST) or max(1, math.ceil(count * AT_ONCE_MS / period_ms)))


def rates(value: object) -> tuple[tuple[str, Rate], ...]:
    """Parse the rates of handlers from a text such as `name=100/m,other=5/s`, or from a table."""
    pairs = cast("Mapping[object, object]", value).items() if isinstance(value, Mapping) else _assigned(value)
    parsed = tuple((_handler(name), rate(text)) for name, text in pairs)
    if len({name for name, _ in parsed}) < len(parsed):
        raise ValueError("names a handler twice")
    return parsed


def queue(value: object) -> str:
    """Check the name of a queue. The name is the Redis key of its list, and the hash tag in the queue's other keys."""
    if isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable() and _NAME.fullmatch(value):
        return value
    raise ValueError(f"must be 1 to {LONGEST_NAME} printable characters without spaces and braces")


def by_occurrence(names: Iterable[str]) -> Iterator[Lane]:
    """The lanes with these names. The weight of a lane is the number of times that its name occurs. Raises ValueError
    for a name that is not allowed."""
    return (Lane(queue(name), weight) for name, weight in Counter(names).items())


def _each(value: object) -> Iterator[Lane]:
    if isinstance(value, str):
        parts = value.split(":")
        if len(set(parts)) < len(parts) and not re.search("[,;={}]", value):
            yield from by_occurrence(parts)
            return
        value = value.split(",")
    if isinstance(value, Mapping):
        for name, options in cast("Mapping[object, object]", value).items():
            bare: Mapping[object, object] = {"weight": options}
            yield _lane(name, cast("Mapping[object, object]", options) if isinstance(options, Mapping) else bare)
    elif isinstance(value, list | tuple):
        yield from map(_spelled, cast("Sequence[object]", value))


def _spelled(value: object) -> Lane:
    """Parse one lane: `name` or `name=weight`, with options after semicolons, as in `name=6;rate=100/m;limit=20`."""
    if isinstance(value, Lane):
        return value
    name, *options = (part.strip() for part in value.split(";")) if isinstance(value, str) else (value,)
    given: dict[object, object] = {}
    if isinstance(name, str) and "=" in name:
        name, _, given["weight"] = name.rpartition("=")
        name = name.strip()
    for option in options:
        key, _, text = str(option).partition("=")
        if key in given:
            raise ValueError(f"gives the {key} of lane {name} twice")
        given[key] = text
    return _lane(name, given)


def _lane(name: object, given: Mapping[object, object]) -> Lane:
    for key in given:
        if key not in _OPTIONS:
            raise ValueError(f"the options of a lane are {', '.join(_OPTIONS[:-1])} and {_OPTIONS[-1]}, not {key!r}")
    if "burst" in given and "rate" not in given:
        raise ValueError("a burst needs a rate")
    weight = _whole("weight", given.get("weight", 1), HEAVIEST) or 1
    limit, keys = (_whole(key, given.get(key), MOST) for key in ("limit", "keys"))
    bound = rate(given["rate"], given.get("burst")) if "rate" in given else None
    timeout = _option("timeout", given.get("timeout"), lambda value: bounds.duration(value, SHORTEST))
    return Lane(list_name(name), weight, bound, limit, keys, timeout, _end(given.get("end", HEAD)))


def list_name(value: object) -> str:
    """Check the key of a lane's list: the name of any queue, or {bindu:tasks}:lane:<name> for a lane in the namespace
    of the queue bindu:tasks."""
    spelled = _OWN.fullmatch(value) if isinstance(value, str) else None
    if spelled is None:
        return queue(value)
    if ":" in spelled[2]:  # a name with a colon means the list with this key
        raise ValueError("the NAME in {queue}:lane:NAME must not contain a colon")
    return f"{{{queue(spelled[1])}}}:lane:{queue(spelled[2])}"


def _option(name: str, value: object, parse: Callable[[object], T]) -> T | None:
    try:
        return None if value is None else parse(value)
    except ValueError as error:
        raise ValueError(f"a {name} {error}, not {value!r}") from None


def _whole(name: str, value: object, most: int) -> int | None:
    return _option(name, value, lambda given: bounds.whole(given, 1, most))


def _end(value: object) -> str:
    if isinstance(value, str) and (end := value.strip().lower()) in (HEAD, TAIL):
        return end
    raise ValueError(f"the end of a lane must be {HEAD} or {TAIL}, not {value!r}")


def _assigned(value: object) -> Iterator[tuple[object, object]]:
    parts: object = value.split(",") if isinstance(value, str) else value
    for part in cast("Sequence[object]", parts) if isinstance(parts, list | tuple) else ():
        if not isinstance(part, str) or "=" not in part:
            raise ValueError("must be the names of handlers with their rates: name=100/m,other=5/s")
        name, _, text = part.partition("=")
        yield name.strip(), text


def _handler(name: object) -> str:
    if isinstance(name, str) and 1 <= len(name) <= LONGEST_NAME and name.isprintable():
        return name
    raise ValueError(f"the name of a handler has 1 to {LONGEST_NAME} printable characters, not {name!r}")


def _milliseconds(text: str) -> int:
    try:
        return round(durations.seconds(f"1{text}" if text.isalpha() else text) * 1000)
    except ValueError:
        return 0


def _period(ms: int) -> str:
    text = durations.shortest(ms / 1000)
    return text[1:] if text[0] == "1" and text[1:].isalpha() else text
