"""Reads a cadence from text, writes it as text, and finds its next moment."""

from __future__ import annotations

from cronsim.explain import Expression

from holdfast.core.cadence.cron import Cron, cron
from holdfast.core.cadence.moments import At, Continue, Every, Stop, local, read_moment
from holdfast.core.cadence.rule import RecurrenceRule, checked, rule
from holdfast.errors import InvalidScheduleError

Cadence = Cron | Every | RecurrenceRule | At | Continue | Stop


def following(cadence: Cadence, after: int) -> int | None:
    """The first moment of a cadence strictly after another. None if no moment will come, or for CONTINUE while its run
    has not ended."""
    return cadence.following(after)


def read(text: str, timezone: str, now: int) -> Cadence:
    """Read `NOW`, `AT:<time>`, `CONTINUE`, `STOP`, or a recurrence rule. Raises InvalidScheduleError for anything
    else."""
    word, colon, rest = text.strip().partition(":")
    match word.upper():
        case "NOW" if not colon:
            return At(now)
        case "CONTINUE" if not colon:
            return Continue(now)
        case "STOP" if not colon:
            return Stop()
        case "AT":
            return At(read_moment(rest, timezone))
        case _ if "FREQ=" in text.upper() or "RDATE" in text.upper():
            return rule(text, timezone, now)
        case _:
            raise InvalidScheduleError(
                f"schedule {text!r} cannot be read: give NOW, AT:<time>, CONTINUE, STOP or a rule "
                "such as RRULE:FREQ=DAILY"
            )


def stored(cadence: Cadence) -> str:
    """The cadence as one text for the store; `restored` reads it back."""
    match cadence:
        case Cron(expression, timezone):
            return f"cron {timezone} {expression}"
        case Every(interval, anchor):
            return f"every {interval} {anchor}"
        case RecurrenceRule():
            return f"rule {cadence}"
        case At(moment):
            return f"at {moment}"
        case Continue(first):
            return f"continue {first}"
        case Stop():
            return "stop"


def restored(text: str) -> Cadence:
    kind, _, rest = text.partition(" ")
    match kind:
        case "cron":
            return cron(rest.partition(" ")[2], rest.partition(" ")[0])
        case "every":
            return Every(*map(int, rest.split()))
        case "rule":
            return checked(rest)
        case "at":
            return At(int(rest))
        case "continue":
            return Continue(int(rest))
        case "stop":
            return Stop()
        case _:
            raise InvalidScheduleError(f"stored schedule {text!r} is of a kind that this version does not know")


# Says a cadence in English, for users who want to check their spelling of it.

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
