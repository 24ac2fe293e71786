"""Says a cadence in English, for users who want to check their spelling of it."""

from __future__ import annotations

from cronsim.explain import Expression

from holdfast.core.cadence.cron import Cron
from holdfast.core.cadence.every import Every
from holdfast.core.cadence.moments import local
from holdfast.core.cadence.once import At, Continue, Stop
from holdfast.core.cadence.parse import Cadence
from holdfast.core.cadence.rule import RecurrenceRule

_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))


def words(cadence: Cadence) -> str:
    match cadence:
        case Cron(expression, timezone):
            fields = expression.split()
            return f"{Expression(['0', *fields][-6:]).explain().rstrip('.')}, {timezone}"
        case Every(interval, anchor):
            return f"Every {_length(interval)}, counted from {_moment(anchor)}"
        case RecurrenceRule(start, timezone, recurrences):
            rules = " and ".join(map(str, recurrences)) or "the dates given"
            return f"{rules}, from {start:%Y-%m-%d %H:%M:%S}, {timezone}"
        case At(moment):
            return f"Once, at {_moment(moment)}"
        case Continue(first):
            return f"From {_moment(first)} on, again whenever a run has ended"
        case Stop():
            return "Never"


def _length(interval: int) -> str:
    for name, size in _UNITS:
        if interval % size == 0:
            number = interval // size
            return name if number == 1 else f"{number} {name}s"
    return f"{interval / 1000:.3f}".rstrip("0").rstrip(".") + " s"


def _moment(moment: int) -> str:
    return f"{local(moment, 'UTC'):%Y-%m-%d %H:%M:%S} UTC"
