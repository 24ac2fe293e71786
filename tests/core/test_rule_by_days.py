"""Rules beside a reading of RFC 5545, 3.3.10, that asks each day of six years: rules that are made at random.

The reading has no search and no library: for each day it says whether the rule names it, then takes the days of each
year, month or week together.
"""

from __future__ import annotations

import random
from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, product
from zoneinfo import ZoneInfo

import pytest

from holdfast.core.cadence import following, restored, rule, stored
from holdfast.errors import InvalidScheduleError

NAMES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
YEARS = 6
MOST = 40  # fires of a rule that are compared


def integers(parts: dict[str, str], name: str) -> list[int]:
    return [int(one) for one in parts.get(name, "").split(",") if one]


def week(day: date, begins: int) -> tuple[int, int, int]:
    """Year, number and number of weeks of the year."""

    def first(year: int) -> date:
        fourth_of_january = date(year, 1, 4)
        return fourth_of_january - timedelta(days=(fourth_of_january.weekday() - begins) % 7)

    year = max(year for year in (day.year - 1, day.year, day.year + 1) if first(year) <= day)
    return year, (day - first(year)).days // 7 + 1, (first(year + 1) - first(year)).days // 7


class Reading:
    def __init__(self, text: str, start: datetime) -> None:
        parts = dict(pair.split("=") for pair in text.split(";"))
        self.parts, self.start, self.frequency = parts, start, parts["FREQ"]
        self.interval = int(parts.get("INTERVAL", "1"))
        self.begins = NAMES.index(parts.get("WKST", "MO"))
        if not parts.keys() & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"} and self.frequency != "DAILY":
            if self.frequency == "WEEKLY" or "BYWEEKNO" in parts:
                parts["BYDAY"] = NAMES[start.weekday()]
            else:
                parts["BYMONTHDAY"] = str(start.day)
                if self.frequency == "YEARLY":
                    parts.setdefault("BYMONTH", str(start.month))

    def names(self, day: date) -> bool:
        parts, length = self.parts, monthrange(day.year, day.month)[1]
        of_year, in_year = day.timetuple().tm_yday, 366 if isleap(day.year) else 365
        _, number, weeks = week(day, self.begins)
        return (
            ("BYMONTH" not in parts or day.month in integers(parts, "BYMONTH"))
            and ("BYMONTHDAY" not in parts or bool({day.day, day.day - length - 1} & {*integers(parts, "BYMONTHDAY")}))
            and ("BYYEARDAY" not in parts or bool({of_year, of_year - in_year - 1} & {*integers(parts, "BYYEARDAY")}))
            and ("BYWEEKNO" not in parts or bool({number, number - weeks - 1} & {*integers(parts, "BYWEEKNO")}))
            and ("BYDAY" not in parts or any(self.is_weekday(day, one) for one in parts["BYDAY"].split(",")))
        )

    def is_weekday(self, day: date, said: str) -> bool:
        if day.weekday() != NAMES.index(said[-2:]):
            return False
        if said[:-2] in ("", "+"):
            return True
        of_month = self.frequency == "MONTHLY" or "BYMONTH" in self.parts
        same = [day + timedelta(weeks=number) for number in range(-60, 61)]
        same = [one for one in same if one.year == day.year and (one.month == day.month or not of_month)]
        which = int(said[:-2])
        return -len(same) <= which <= len(same) and day == same[which - 1 if which > 0 else which]

    def period(self, day: date) -> int:
        match self.frequency:
            case "DAILY":
                return day.toordinal()
            case "WEEKLY":
                return (day - timedelta(days=(day.weekday() - self.begins) % 7)).toordinal() // 7
            case "MONTHLY":
                return day.year * 12 + day.month
            case _:
                return week(day, self.begins)[0] if "BYWEEKNO" in self.parts else day.year

    def walls(self) -> Iterator[datetime]:
        first = self.start.date() - timedelta(days=800)
        end = self.start + timedelta(days=366 * YEARS)
        days = (first + timedelta(days=number) for number in range(800 + 366 * YEARS + 400))
        for period, named in groupby(filter(self.names, days), self.period):
            if (period - self.period(self.start.date())) % self.interval:
                continue
            times = product(
                named,
                sorted(integers(self.parts, "BYHOUR")) or [self.start.hour],
                sorted(integers(self.parts, "BYMINUTE")) or [self.start.minute],
            )
            walls = [datetime(day.year, day.month, day.day, hour, minute) for day, hour, minute in times]  # noqa: DTZ001
            if positions := integers(self.parts, "BYSETPOS"):
                chosen = {one - 1 if one > 0 else len(walls) + one for one in positions}
                walls = [wall for place, wall in enumerate(walls) if place in chosen]
            yield from (wall for wall in walls if self.start <= wall < end)  # the last period is not whole


def some_of(some: random.Random, low: int, high: int, most: int) -> str:
    values = [value for value in range(low, high + 1) if value]
    return ",".join(map(str, some.sample(values, some.randint(1, most))))


def a_rule(some: random.Random) -> str:
    frequency = some.choice(["YEARLY", "YEARLY", "YEARLY", "MONTHLY", "MONTHLY", "WEEKLY", "WEEKLY", "DAILY"])
    parts = {"FREQ": frequency}
    may = some.random
    if may() < 0.4:
        parts["INTERVAL"] = str(some.randint(2, 3))
    if frequency == "YEARLY" and may() < 0.6:
        parts["BYWEEKNO"] = some.choice(["1", "-1", "53", "52,1", "-53", "20", some_of(some, -53, 53, 4)])
    if may() < 0.25:
        parts["BYMONTH"] = some_of(some, 1, 12, 5)
    if frequency == "YEARLY" and may() < 0.2:
        parts["BYYEARDAY"] = some_of(some, -366, 366, 50)
    if frequency != "WEEKLY" and may() < 0.3:
        parts["BYMONTHDAY"] = some_of(some, -31, 31, 8)
    if may() < 0.5:
        parts["BYDAY"] = ",".join(
            (str(some.choice([-2, -1, 1, 2, 3, 5])) if nth else "") + day
            for day in some.sample(NAMES, some.randint(1, 4))
            for nth in [frequency in ("YEARLY", "MONTHLY") and "BYWEEKNO" not in parts and may() < 0.4]
        )
    if may() < 0.3:
        parts["WKST"] = some.choice(NAMES)
    if may() < 0.3:
        parts["BYHOUR"] = some_of(some, 7, 20, 3)
    if may() < 0.2:
        parts["BYMINUTE"] = some_of(some, 1, 59, 2)
    if may() < 0.5 and any(name.startswith("BY") for name in parts):
        parts["BYSETPOS"] = some_of(some, -6, 6, 3)
    return ";".join(f"{name}={value}" for name, value in parts.items())


def moment(wall: datetime, zone: str) -> int:
    return round(wall.replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1000


@pytest.mark.seeds(60, of=300)
def test_a_rule_fires_on_the_days_that_a_look_at_each_day_finds(seed: int) -> None:
    some = random.Random(seed)
    text = a_rule(some)
    start = datetime(2024, 1, 1, 9, 30) + timedelta(days=some.randrange(1600))  # noqa: DTZ001
    zone = some.choice(["UTC", "America/New_York"])
    wanted = [moment(wall, zone) for wall in Reading(text, start).walls()]
    match some.choice(["", "", "COUNT", "UNTIL", "EXDATE"]):
        case "COUNT" if wanted:
            count = some.randint(1, min(20, len(wanted)))
            text, wanted = f"{text};COUNT={count}", wanted[:count]
        case "UNTIL" if wanted:
            until = some.choice(wanted[:MOST])
            text = f"{text};UNTIL={datetime.fromtimestamp(until / 1000, UTC):%Y%m%dT%H%M%SZ}"
            wanted = [one for one in wanted if one <= until]
        case "EXDATE" if wanted:
            out = wanted[:MOST:3]
            dates = ",".join(f"{datetime.fromtimestamp(one / 1000, ZoneInfo(zone)):%Y%m%dT%H%M%S}" for one in out)
            text, wanted = f"{text}\nEXDATE;TZID={zone}:{dates}", [one for one in wanted if one not in out]
        case _:
            pass
    try:
        made = restored(stored(rule(f'DTSTART;TZID="{zone}":{start.isoformat()}\nRRULE:{text}', "UTC", 0)))
    except InvalidScheduleError:  # it never fires
        assert not wanted
        return
    found, now = list[int](), -1
    while len(found) < min(MOST, len(wanted)) and (next_ := following(made, now)) is not None:
        found.append(next_)
        now = next_
    assert found == wanted[:MOST]
    for after in some.sample(range(wanted[0], wanted[-1]), 3) if len(wanted) > 1 else ():
        assert following(made, after) == min(one for one in wanted if one > after)


@pytest.mark.parametrize(
    ("text", "start", "first"),
    [
        ("FREQ=YEARLY;BYWEEKNO=20", "20270517T090000", ["2027-05-17", "2028-05-15", "2029-05-14"]),
        ("FREQ=YEARLY;BYWEEKNO=20", "20240106T090000", ["2024-05-18", "2025-05-17", "2026-05-16"]),
        ("FREQ=YEARLY;BYWEEKNO=-1;BYDAY=SU", "20270101T090000", ["2027-01-03", "2028-01-02", "2028-12-31"]),
        ("FREQ=YEARLY;BYWEEKNO=53;BYDAY=FR", "20240101T090000", ["2027-01-01", "2033-01-01", "2038-01-01"][:1]),
        ("FREQ=YEARLY;INTERVAL=2;BYWEEKNO=1;BYDAY=MO", "20240101T090000", ["2024-01-01", "2025-12-29", "2028-01-03"]),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2", "20240102T120000", ["2024-01-02", "2024-01-09"]),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "20240106T120000", ["2024-01-12", "2024-01-19"]),
        ("FREQ=WEEKLY;BYDAY=SU,MO;BYSETPOS=1;WKST=SU", "20240101T120000", ["2024-01-07", "2024-01-14"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2", "20240103T120000", ["2024-02-02", "2024-03-04"]),
        ("FREQ=MONTHLY;BYDAY=1MO,SU", "20240501T120000", ["2024-05-05", "2024-05-06", "2024-05-12"]),
        ("FREQ=YEARLY;BYMONTH=2;BYDAY=-1WE,TH", "20240220T120000", ["2024-02-22", "2024-02-28", "2024-02-29"]),
    ],
)
def test_what_a_rule_leaves_out_is_that_of_its_start_and_positions_count_in_whole_periods(
    text: str, start: str, first: list[str]
) -> None:
    made, now, found = rule(f"DTSTART:{start}Z\nRRULE:{text}", "UTC", 0), -1, list[str]()
    for _ in first:
        now = following(made, now) or 0
        found.append(f"{datetime.fromtimestamp(now / 1000, UTC):%Y-%m-%d}")
    assert found == first


@pytest.mark.parametrize(
    "line",
    [
        'DTSTART;TZID="Europe/Berlin":20270517T090000',
        'dtstart;tzid="Europe/Berlin";value="DATE-TIME":20270517T090000',
        "DTSTART;TZID=Europe/Berlin:2027-05-17T09:00:00",
        "DTSTART;TZID=Europe/Berlin:2027-05-17T09:00",
        "DTSTART;TZID=Europe/Berlin:2027-05-17 09:00:00",
        "DTSTART;TZID=Europe/Berlin:2027-05-17T09:00:00+02:00",
        "DTSTART;TZID=Europe/Berlin:2027-05-17T07:00:00+00:00",
        "DTSTART:2027-05-17T16:00:00.000+09:00",
    ],
)
def test_each_form_of_a_start_is_read(line: str) -> None:
    made = rule(f"{line}\nRRULE:FREQ=WEEKLY;COUNT=2", "Europe/Berlin", 0)
    assert made == rule("DTSTART;TZID=Europe/Berlin:20270517T090000\nRRULE:FREQ=WEEKLY;COUNT=2", "UTC", 0)


def test_each_form_of_the_other_dates_is_read() -> None:
    iso = rule(
        "DTSTART:2027-05-17T09:00:00Z\nRRULE:FREQ=DAILY;UNTIL=2027-06-17T09:00:00Z\n"
        'RDATE;TZID="Asia/Tokyo":2027-05-17T09:00:00,2027-05-18T10:00:00+01:00\nEXDATE:2027-05-20,2027-05-21T09:00:00Z',
        "UTC",
        0,
    )
    basic = rule(
        "DTSTART:20270517T090000Z\nRRULE:FREQ=DAILY;UNTIL=20270617T090000Z\n"
        "RDATE:20270517T000000Z,20270518T090000Z\nEXDATE:20270520,20270521T090000Z",
        "UTC",
        0,
    )
    assert iso == basic
    assert rule("FREQ=DAILY;UNTIL=2027-06-17T09:00:00Z", "UTC", 0) == rule(
        "FREQ=DAILY;UNTIL=20270617T090000Z", "UTC", 0
    )


@pytest.mark.parametrize(
    "date",
    ["2027-05-17T9:00", "2027-W20-1", "2027-02-30", "00270517T090000", "20270517T09:00:00", "2027-05-17T09:00:00.5"],
)
def test_what_is_no_date_is_refused(date: str) -> None:
    with pytest.raises(InvalidScheduleError, match=r"rule date .* cannot be read: write 20270131T093000 or 2027-01-31"):
        rule(f"DTSTART:{date}\nRRULE:FREQ=DAILY", "UTC", 0)


@pytest.mark.parametrize(
    ("text", "told", "instead"),
    [
        ("FREQ=WEEKLY;BYWEEKNO=20;BYDAY=TU", "write FREQ=YEARLY with the same", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=TU"),
        ("FREQ=DAILY;BYWEEKNO=20", "YEARLY with the same parts and BYDAY=MO,TU,WE,TH,FR,SA,SU", "FREQ=YEARLY"),
        ("FREQ=DAILY;BYYEARDAY=100", "write FREQ=YEARLY with the same parts", "FREQ=YEARLY;BYYEARDAY=100"),
        ("FREQ=WEEKLY;BYMONTHDAY=13;BYDAY=FR", "write FREQ=DAILY with", "FREQ=DAILY;BYMONTHDAY=13;BYDAY=FR"),
        ("FREQ=MONTHLY;BYYEARDAY=100", "needs FREQ=YEARLY or HOURLY", "FREQ=YEARLY;BYYEARDAY=100"),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=1MO", "without a number", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO"),
    ],
)
def test_a_part_that_is_not_for_its_frequency_is_refused_with_what_means_the_same(
    text: str, told: str, instead: str
) -> None:
    with pytest.raises(InvalidScheduleError, match=told):
        rule(f"DTSTART:20270101T090000Z\nRRULE:{text}", "UTC", 0)
    rule(f"DTSTART:20270101T090000Z\nRRULE:{instead}", "UTC", 0)
