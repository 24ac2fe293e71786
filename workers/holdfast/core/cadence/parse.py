"""Reads a cadence from text, writes it as text, and finds its next moment."""

from __future__ import annotations

from holdfast.core.cadence.cron import Cron, cron
from holdfast.core.cadence.moments import At, Continue, Every, Stop, read_moment
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
