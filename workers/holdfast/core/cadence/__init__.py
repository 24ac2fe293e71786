"""Cadences: pure arithmetic over moments, which are milliseconds since 1970.

`read` turns a user's text into a cadence. `following` names the first moment strictly after another. `stored` and
`restored` write a cadence for the store and read it back. `words` describes a cadence in English. Nothing here reads a
clock. All searches are bounded, and `read` refuses a cadence that never comes due.
"""

from holdfast.core.cadence.cron import Cron, cron
from holdfast.core.cadence.in_words import words
from holdfast.core.cadence.moments import At, Continue, Every, Stop, every
from holdfast.core.cadence.parse import Cadence, following, read, restored, stored
from holdfast.core.cadence.rule import RecurrenceRule, rule

__all__ = [
    "At",
    "Cadence",
    "Continue",
    "Cron",
    "Every",
    "RecurrenceRule",
    "Stop",
    "cron",
    "every",
    "following",
    "read",
    "restored",
    "rule",
    "stored",
    "words",
]
