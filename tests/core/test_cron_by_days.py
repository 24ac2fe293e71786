"""Cron beside what looks at each day of two years, and at each second of a day: expressions that are made at random.

The look knows nothing of the product's reading: it asks each value of a field whether a term names it.
"""

from __future__ import annotations

import random
import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from holdfast.core.cadence import cron, following, restored, rule, stored, words
from holdfast.errors import InvalidScheduleError

DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
BOUNDS = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}
FIRST, LAST = date(2027, 7, 1), date(2029, 6, 30)  # with 29 February 2028


def number(text: str, name: str) -> int:
    if text in DAYS:
        return DAYS.index(text)
    return MONTHS.index(text) + 1 if text in MONTHS else int(text)


def named(value: int, field: str, name: str) -> bool:
    """True if a field names a value."""
    return any(_named(value, term, name) for term in field.split(","))


def _named(value: int, term: str, name: str) -> bool:
    body, _, step = term.partition("/")
    low, high = BOUNDS[name]
    if body not in ("*", "?"):
        first, dash, last = body.partition("-")
        low = number(first, name)
        high = number(last, name) if dash else high if step else low
        if name == "weekday" and last == "SUN" and low > 0:
            high = 7
    return low <= value <= high and (value - low) % int(step or 1) == 0


def its_day(day: date, of_month: str, weekday: str) -> bool:
    by_month, by_week = _by_month(day, of_month), any(_by_week(day, term) for term in weekday.split(","))
    both = of_month[0] in "*?" or weekday[0] in "*?"
    return (by_month and by_week) if both else (by_month or by_week)


def _by_month(day: date, field: str) -> bool:
    end = date(day.year, day.month, monthrange(day.year, day.month)[1])
    workdays = [end - timedelta(days=back) for back in range(7) if (end - timedelta(days=back)).isoweekday() < 6]
    special = {"L": end, "LW": workdays[0]}
    return any(day == special[term] if term in special else _named(day.day, term, "day") for term in field.split(","))


def _by_week(day: date, term: str) -> bool:
    if term.endswith("L"):
        return day.isoweekday() % 7 == number(term[:-1], "weekday") % 7 and (day + timedelta(days=7)).month != day.month
    if "#" in term:
        name, which = term.split("#")
        same = [day.replace(day=each) for each in range(1, day.day + 1)]
        return day.isoweekday() % 7 == number(name, "weekday") % 7 and int(which) == sum(
            each.isoweekday() == day.isoweekday() for each in same
        )
    return any(_named(value, term, "weekday") for value in {day.isoweekday(), day.isoweekday() % 7})


def a_term(some: random.Random, name: str) -> str:
    low, high = BOUNDS[name]
    first, last = sorted(some.choices(range(low, high + 1), k=2))
    step = f"/{some.choice([1, 2, 3, 5, 7, 31, 60])}"
    kinds = [f"{first}", f"{first}-{first}{step}", f"{first}-{last}{step}", f"{first}-{last}", f"{first}{step}"]
    if name == "month":
        kinds += [f"{MONTHS[first - 1]}-{MONTHS[last - 1]}{step}", MONTHS[first - 1]]
    if name == "day":
        kinds += ["L", "LW", "31-31/2"]
    if name == "weekday":
        day = some.choice(DAYS)
        kinds += [f"{day}L", f"{first}L", f"{day}#{some.randint(1, 5)}", f"{day}-{day}{step}"]
        kinds += [f"{some.choice(DAYS[1:])}-SUN{some.choice(['', step])}", f"SUN-{some.choice(DAYS)}"]
    return some.choice(kinds)


def a_field(some: random.Random, name: str) -> str:
    if some.random() < 0.35:
        return some.choice(["*", "*/2", "*/3", *(["?"] * 2 if name in ("day", "weekday") else [])])
    return ",".join(a_term(some, name) for _ in range(some.choice([1, 1, 1, 2, 3])))


def walked(text: str, start: datetime, end: datetime) -> Iterator[datetime]:
    made = restored(stored(cron(text)))
    now, last = round(start.timestamp()) * 1000 - 1, round(end.timestamp()) * 1000
    while (now := following(made, now) or last) < last:
        yield datetime.fromtimestamp(now / 1000, UTC)


@pytest.mark.seeds(50, of=250)
def test_cron_fires_on_the_days_that_a_look_at_each_day_finds(seed: int) -> None:
    some = random.Random(seed)
    of_month, month, weekday = (a_field(some, name) for name in ("day", "month", "weekday"))
    text = f"{some.choice(['7-7/5', '7'])} {some.choice(['9-9/2', '9'])} {of_month} {month} {weekday}"
    each = (FIRST + timedelta(days=number) for number in range((LAST - FIRST).days + 1))
    wanted = [day for day in each if named(day.month, month, "month") and its_day(day, of_month, weekday)]
    start, end = (datetime(day.year, day.month, day.day, tzinfo=UTC) for day in (FIRST, LAST + timedelta(days=1)))
    try:
        found = list(walked(text, start, end))
    except InvalidScheduleError:  # it never fires
        assert not wanted
        return
    assert found == [datetime(day.year, day.month, day.day, 9, 7, tzinfo=UTC) for day in wanted]
    assert words(cron(text))


@pytest.mark.seeds(30, of=150)
def test_cron_fires_at_the_times_that_a_look_at_each_second_finds(seed: int) -> None:
    some = random.Random(seed)
    second, minute, hour = (a_field(some, name) for name in ("second", "minute", "hour"))
    hours, minutes, seconds = (
        [value for value in range(BOUNDS[name][1] + 1) if named(value, field, name)]
        for name, field in (("hour", hour), ("minute", minute), ("second", second))
    )
    start = datetime(2028, 2, 29, tzinfo=UTC)
    wanted = [start + timedelta(hours=h, minutes=m, seconds=s) for h in hours for m in minutes for s in seconds][:300]
    found = list(walked(f"{second} {minute} {hour} * * *", start, wanted[-1] + timedelta(seconds=1)))
    assert found == wanted


@pytest.mark.parametrize("name", ["second", "minute", "hour", "day", "month", "weekday"])
@pytest.mark.parametrize("at", ["low", "middle", "high"])
@pytest.mark.parametrize("step", [1, 2, 10, 59])
def test_a_range_of_one_value_is_this_value_whatever_its_step(name: str, at: str, step: int) -> None:
    low, high = BOUNDS[name]
    value = {"low": low, "middle": (low + high) // 2, "high": high}[at]
    fields = dict.fromkeys(BOUNDS, "0") | {"day": "*", "month": "*", "weekday": "*"}
    ranged, plain = (" ".join((fields | {name: text}).values()) for text in (f"{value}-{value}/{step}", f"{value}"))
    assert cron(ranged) == cron(plain)


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("0 9 ? * MON-FRI", "0 9 * * MON-FRI"),
        ("0 9 1 * ?", "0 9 1 * *"),
        ("0 9 ? * ?", "0 9 * * *"),
        ("0 9 * * MON-SUN", "0 9 * * MON-7"),
        ("0 9 * * SUN-SUN", "0 9 * * SUN"),
        ("0 9 1-31/31 * *", "0 9 1 * *"),
        ("0 9 * * fril", "0 9 * * 5L"),
        ("0 9 * * SUNL", "0 9 * * 0L"),
        ("CRON_TZ=UTC 0 0 9 ? * tue#2", "0 0 9 * * 2#2"),
    ],
)
def test_other_spellings_of_the_same(said: str, plain: str) -> None:
    assert cron(said) == cron(plain)


@pytest.mark.parametrize(
    ("field", "term"),
    [
        (5, "FRI-MON"),
        (5, "fri-mon/2"),
        (5, "SAT-MON/3"),
        (5, "5-1"),
        (5, "5-0"),
        (5, "MON-0"),
        (5, "7-3"),
        (5, "7-3/2"),
        (5, "L5"),
        (5, "MON#L"),
        (5, "MON#-1"),
        (5, "FRIL/2"),
        (5, "FRI#2/2"),
        (4, "NOV-FEB"),
        (4, "NOV-JAN"),
        (4, "11-2/2"),
        (3, "28-3"),
        (3, "L/3"),
        (3, "?/2"),
        (2, "22-4"),
        (2, "22-4/3"),
        (2, "?"),
        (1, "50-10"),
        (1, "59-0"),
        (1, "?"),
    ],
)
def test_what_is_refused_names_what_means_the_same(field: int, term: str) -> None:
    """The error names another term. That one is taken, and fires on the values that the refused one means."""
    fields = ["0", "9", "*", "*", "*"]
    with pytest.raises(InvalidScheduleError, match=rf"field {field} .* is '{re.escape(term)}': ") as told:
        cron(" ".join([*fields[: field - 1], term, *fields[field:]]))
    instead = str(told.value).rpartition("write ")[2]
    cron(" ".join([*fields[: field - 1], instead, *fields[field:]]))
    wrapping = re.fullmatch(r"(\w+)-(\w+?)(?:/(\d+))?", term)
    if wrapping is None:
        return
    name = list(BOUNDS)[field]
    first, last = number(wrapping[1].upper(), name), number(wrapping[2].upper(), name)
    values = list(range(7) if name == "weekday" else range(BOUNDS[name][0], BOUNDS[name][1] + 1))
    start, wanted, passed = values.index(first % 7 if name == "weekday" else first), set[int](), 0
    while True:
        value = values[(start + passed) % len(values)]
        wanted |= {value} if passed % int(wrapping[3] or 1) == 0 else set()
        if value == (last % 7 if name == "weekday" else last):
            break
        passed += 1
    sundays = (lambda value: value % 7) if name == "weekday" else (lambda value: value)
    assert {sundays(value) for value in range(60) if named(value, instead, name)} == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 0 9 ? * MON *", "and no year: write '0 0 9 ? * MON'"),
        ("0 0 9 * * MON 2027", "write '0 0 9 * * MON' with start 2027-01-01 and end 2027-12-31T23:59:59"),
        ("0 0 9 1 1 ? 2027-2030", "write '0 0 9 1 1 ?' with start 2027-01-01 and end 2030-12-31T23:59:59"),
        ("0 0 9 1 1 ? 2027/2", "one schedule with start and end for each run of years"),
        ("@every 5m", "write every='5m'"),
        ("0 9 * * L", "SATL for the last Saturday of the month, SAT for each"),
        ("0 9 ?,3 * *", "? cannot be in a list"),
        ("0-0/0 9 * * *", "a step must be at least 1"),
        ("0 9 29W * *", "is '29W': allowed are 1-31, L, LW"),
    ],
)
def test_what_is_refused_says_what_to_do(text: str, told: str) -> None:
    with pytest.raises(InvalidScheduleError) as error:
        cron(text)
    assert told in str(error.value)


def nearest_weekday(day: date) -> date:
    moved = {6: -1 if day.day > 1 else 2, 7: 1}.get(day.isoweekday(), 0)
    return day + timedelta(days=moved)


@pytest.mark.parametrize(
    ("term", "meant"),
    [
        ("L-3", lambda first: first.replace(day=monthrange(first.year, first.month)[1] - 3)),
        *((f"{day}W", lambda first, day=day: nearest_weekday(first.replace(day=day))) for day in (1, 2, 15, 27)),
    ],
)
def test_a_day_that_cron_cannot_say_is_named_as_a_rule(term: str, meant: Callable[[date], date]) -> None:
    with pytest.raises(InvalidScheduleError, match="write a rule") as told:
        cron(f"0 9 {term} * *")
    parts = re.findall(r"FREQ=[\w;=,-]+\w", str(told.value))
    made = rule(
        "\n".join(["DTSTART:20260101T000000Z", *(f"RRULE:{one};BYHOUR=9;BYMINUTE=0" for one in parts)]), "UTC", 0
    )
    now: int | None = round(datetime(2027, 1, 1, tzinfo=UTC).timestamp()) * 1000 - 1
    for month in range(48):
        day = meant(date(2027 + month // 12, month % 12 + 1, 1))
        now = following(made, now) if now is not None else None
        assert now == round(datetime(day.year, day.month, day.day, 9, tzinfo=UTC).timestamp()) * 1000
