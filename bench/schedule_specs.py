"""The schedules of the bench: cron, interval and rule by turns, each with its first fire at a chosen moment."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from bench import work
from holdfast.client.schedule_definition import ScheduleSpec

ZONE = "Europe/Berlin"
DAY = 86400


def far(number: int) -> ScheduleSpec:
    """Due in twelve hours or later, within eight more."""
    return at_once(number, round(time.time()) + DAY // 2 + number % (DAY // 3))


def at_once(number: int, moment: int) -> ScheduleSpec:
    """Due at `moment`, in Unix seconds, then daily."""
    text = work.text(number)
    match number % 3:
        case 0:
            there = datetime.fromtimestamp(moment, ZoneInfo(ZONE))
            return ScheduleSpec(cron=f"{there.second} {there.minute} {there.hour} * * *", timezone=ZONE, text=text)
        case 1:
            return ScheduleSpec(every=DAY, anchor=moment, text=text)
        case _:
            start = f"{datetime.fromtimestamp(moment, UTC):%Y%m%dT%H%M%SZ}"
            return ScheduleSpec(rrule=f"DTSTART:{start}\nRRULE:FREQ=DAILY", text=text)


def spread(number: int, moment: int) -> ScheduleSpec:
    """Due within the second after `moment`."""
    return ScheduleSpec(every=DAY, anchor=moment + number % 1000 / 1000, text=work.text(number))
