"""Cron beside what looks at each minute: around every change of the clock in zones that change it in their own ways."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from holdfast.core.cadence import cron, following

MINUTE = timedelta(minutes=1)

# An hour at night, half an hour, an hour at midnight, a whole day that never was, two hours, back for a month.
CHANGES = [
    ("America/New_York", "2027-03-14", "2027-11-07"),
    ("Australia/Lord_Howe", "2027-04-03", "2027-10-02"),
    ("America/Sao_Paulo", "2018-11-04", "2018-02-18"),
    ("Pacific/Apia", "2011-12-29"),
    ("Antarctica/Troll", "2027-03-28", "2027-10-31"),
    ("Africa/Casablanca", "2027-02-07", "2027-03-14"),
]
EXPRESSIONS = [
    "30 2 * * *",
    "15,45 1-3 * * *",
    "5 0-3/2 13 * 0",
    "0 0 * * *",
    "59 23 1,7,30 * *",
    "*/15 * * * *",
    "*/20 2 * * *",
    "30 */2 * * *",
    "0 * * * *",
    "7 * */2 * 0-5",
]


def field(text: str, low: int, high: int) -> set[int]:
    minutes: set[int] = set()
    for part in text.split(","):
        body, _, step = part.partition("/")
        first, _, last = (f"{low}-{high}" if body == "*" else body).partition("-")
        minutes |= set(range(int(first), int(last or (high if step else first)) + 1, int(step or 1)))
    return minutes


class Minutes:
    """An expression as cron(5) reads it, asked minute by minute."""

    def __init__(self, expression: str) -> None:
        minute, hour, day, month, weekday = expression.split()
        self.minutes, self.hours, self.months = field(minute, 0, 59), field(hour, 0, 23), field(month, 1, 12)
        self.days, self.weekdays = field(day, 1, 31), {number % 7 for number in field(weekday, 0, 7)}
        self.both = day.startswith("*") or weekday.startswith("*")
        self.once = not minute.startswith("*") and not hour.startswith("*")

    def names(self, wall: datetime) -> bool:
        days = wall.day in self.days, wall.isoweekday() % 7 in self.weekdays
        its_day = all(days) if self.both else any(days)
        return its_day and wall.minute in self.minutes and wall.hour in self.hours and wall.month in self.months

    def moments(self, name: str, start: datetime, end: datetime) -> list[int]:
        moments: list[int] = []
        before = (start - MINUTE).astimezone(ZoneInfo(name)).replace(tzinfo=None)
        while start < end:
            there = start.astimezone(ZoneInfo(name))
            wall = there.replace(tzinfo=None)
            named = self.names(wall) and not (self.once and there.fold)
            before += MINUTE
            while self.once and before < wall:  # left out by the clock
                named = named or self.names(before)
                before += MINUTE
            if named:
                moments.append(round(start.timestamp()) * 1000)
            before, start = wall, start + MINUTE
        return moments


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize(("name", "date"), [(name, date) for name, *dates in CHANGES for date in dates])
def test_cron_fires_when_a_look_at_each_minute_says_so(name: str, date: str, expression: str) -> None:
    start = datetime.fromisoformat(date).replace(tzinfo=UTC) - timedelta(hours=20)
    end = start + timedelta(days=3)
    wanted = Minutes(expression).moments(name, start, end)
    made = cron(expression, name)
    found, now, last = list[int](), round(start.timestamp()) * 1000 - 1, round(end.timestamp()) * 1000
    while (now := following(made, now) or last) < last:
        found.append(now)
    assert found == wanted
    some = random.Random(date)
    for _ in range(20):
        after = some.randrange(round(start.timestamp()) * 1000, last)
        assert (following(made, after) or last) >= last or following(made, after) == min(
            moment for moment in wanted if moment > after
        )
