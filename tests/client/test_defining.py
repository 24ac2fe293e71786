"""Impossible schedules are refused before anything is written, and the reason names the place."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.client.schedule_definition import define, read_spec
from holdfast.errors import InvalidScheduleError

NOW = 1_800_000_000_000  # 2027-01-15T08:00:00Z

WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "nothing given; give one of cron, every, rrule, at, schedule"),
    ({"every": 5, "cron": "* * * * *"}, "cron and every given"),
    ({"every": 5, "text": None}, "nothing to run"),
    ({"every": 5, "colour": "red"}, "'colour' is no option of a schedule"),
    ({"cron": "* * * * * * *"}, "7 fields; five"),
    ({"cron": "*/0 * * * *"}, r"field 1 \(minute\) is '\*/0'"),
    ({"cron": "1-0 * * * *"}, r"field 1 \(minute\) is '1-0'"),
    ({"cron": "0 24 * * *"}, r"field 2 \(hour\) is '24': allowed are 0-23"),
    ({"cron": "0 0 32 * *"}, r"field 3 \(day-of-month\) is '32'"),
    ({"cron": "0 0 * 13 *"}, r"field 4 \(month\) is '13'"),
    ({"cron": "0 0 31 4,6 *"}, "never fires: none of these months has such a day"),
    ({"cron": "CRON_TZ=UTC"}, "1 fields"),
    ({"cron": "TZ=UTC * * * * *"}, r"field 1 \(second\) is 'TZ=UTC'"),
    ({"cron": ",".join("0" * 3000) + " * * * *"}, "6007 characters, at most 1000"),
    ({"cron": "* * * * *", "end": "2020-01-01"}, "this schedule never fires: no time in the future lies within"),
    ({"cron": "0 0 1 1 *", "start": "2027-02-01", "end": "2027-03-01"}, "this schedule never fires"),
    ({"cron": "* * * * *", "anchor": 5}, "anchor is allowed only with every"),
    ({"every": 0}, "interval 0.0 cannot be read"),
    ({"every": "5 m"}, "interval '5 m' cannot be read"),
    ({"every": "P1M"}, "interval 'P1M' cannot be read"),
    ({"every": "\u0661\u0660"}, "cannot be read: give seconds"),
    ({"every": "1_0"}, "interval '1_0' cannot be read"),
    ({"every": "4000d"}, "from 0.1 s to 3660 days"),
    ({"every": 5, "anchor": "x"}, "anchor: time 'x' cannot be read"),
    ({"every": 5, "end": "2020-01-01"}, "this schedule never fires"),
    ({"every": 5, "start": "2028-01-01", "end": "2027-06-01"}, "end '2027-06-01' is before start '2028-01-01'"),
    ({"every": 5, "limit": 0}, "limit 0: a whole number from 1"),
    ({"every": 5, "limit": 1.5}, "limit 1.5: a whole number is expected"),
    ({"every": 5, "jitter": -1}, "jitter -1.0"),
    ({"every": 5, "jitter": 6}, "jitter 6.0 is longer than the interval"),
    ({"every": 5, "unique": 5}, "unique 5: a text is expected"),
    ({"every": 5, "metadata": "x"}, "metadata 'x': an object of names and values is expected"),
    ({"every": 5, "expires": True}, "expires True: a number or a text is expected"),
    ({"every": 5, "overlap": "maybe"}, "overlap 'maybe': allow, forbid, queue-one, replace are allowed"),
    ({"every": 5, "misfire": "all:0"}, "misfire 'all:0': latest, skip, or all:N"),
    ({"every": 5, "misfire": "all:1001"}, "with N from 1 to 1000"),
    ({"every": 5, "misfire": "all:" + "9" * 5000}, "with N from 1 to 1000"),
    ({"every": 5, "start_deadline": "soon"}, "start_deadline 'soon'"),
    ({"every": 5, "on_failure": "explode"}, "on_failure 'explode': continue, stop are allowed"),
    ({"every": 5, "backoff": -1}, "backoff -1.0"),
    ({"every": 5, "unique_for": 5}, "unique_for needs unique"),
    (
        {"schedule": "CONTINUE", "unique": "k"},
        "unique 'k': not allowed with CONTINUE, because a run that is skipped as a duplicate would stop the schedule",
    ),
    ({"every": 5, "expires": "soon"}, "expires 'soon': allowed are seconds above 0, or a duration"),
    ({"every": 5, "webhook": "example.com"}, "webhook 'example.com'"),
    ({"every": 5, "concurrency_key": ""}, "concurrency_key ''"),
    ({"every": 5, "timezone": "Mars/Base"}, "time zone 'Mars/Base' is unknown"),
    ({"every": 5, "timezone": "../UTC"}, "time zone '../UTC' is unknown"),
    ({"every": 5, "timezone": ""}, "time zone '' is unknown"),
    ({"every": 5, "max_attempts": 0}, "max_attempts 0"),
    ({"every": 5, "timeout": 0}, "timeout 0.0"),
    ({"every": 5, "lane": "no spaces"}, "lane 'no spaces'"),
    ({"every": 5, "kwargs": {"a": 1}}, "kwargs need name"),
    ({"at": "soon"}, "at: time 'soon' cannot be read"),
    ({"at": "2027-02-30"}, "at: time '2027-02-30' cannot be read"),
    ({"at": -1}, "at: time '-1.000' cannot be read"),
    ({"at": 1900000000, "end": 1850000000}, "the only time of this schedule is before start or after end"),
    ({"schedule": "WHENEVER"}, "give NOW, AT:<time>, CONTINUE, STOP or a rule"),
    ({"schedule": "STOP:"}, "'STOP:' cannot be read"),
    ({"schedule": "NOW:5"}, "'NOW:5' cannot be read"),
    ({"schedule": "AT:"}, "time '' cannot be read"),
    ({"schedule": "CONTINUE", "end": "2020-01-01"}, "this schedule never fires"),
    ({"rrule": ""}, "neither an RRULE nor an RDATE"),
    ({"rrule": "FREQ=DAILY;INTERVAL=-1"}, "INTERVAL is '-1'"),
    ({"rrule": "FREQ=DAILY;COUNT=0"}, "COUNT is '0'"),
    ({"rrule": "FREQ=DAILY;COUNT=99999"}, "a number from 1 to 10000"),
    ({"rrule": "FREQ=DAILY;UNTIL=20261332T000000Z"}, "UNTIL is '20261332T000000Z'"),
    ({"rrule": "FREQ=DAILY;UNTIL=20200101T000000Z"}, "never fires"),
    ({"rrule": "FREQ=MONTHLY;BYDAY=60MO"}, "BYDAY is '60MO': a number before a day must be 1 to 5"),
    ({"rrule": "FREQ=MONTHLY;BYDAY=0MO"}, "BYDAY is '0MO'"),
    ({"rrule": "FREQ=YEARLY;BYDAY=54MO"}, "1 to 53"),
    ({"rrule": "FREQ=YEARLY;BYMONTH=3;BYDAY=-6MO"}, "-1 to -5"),
    ({"rrule": "FREQ=WEEKLY;BYDAY=XX"}, "BYDAY is 'XX'"),
    ({"rrule": "FREQ=DAILY;BYSETPOS=1"}, "BYSETPOS chooses among the times of another BY part"),
    ({"rrule": "FREQ=YEARLY;BYEASTER=1"}, "'BYEASTER' is no part of a rule"),
    ({"rrule": "RRULE:FREQ=DAILY\nRRULE:FREQ=DAILY;INTERVAL=0"}, "INTERVAL is '0'"),
    ({"rrule": "RRULE;TZID=UTC:FREQ=DAILY"}, "an RRULE line has none"),
    ({"rrule": "DTSTART:20270101\nDTSTART:20280101\nRRULE:FREQ=DAILY"}, "more than one DTSTART"),
    ({"rrule": "DTSTART;FOO=BAR:20270101T000000\nRRULE:FREQ=DAILY"}, "one TZID and one VALUE"),
    ({"rrule": "DTSTART;TZID=UTC;TZID=UTC:20270101T000000\nRRULE:FREQ=DAILY"}, "one TZID and one VALUE"),
    ({"rrule": "DTSTART;VALUE=PERIOD:20270101T000000\nRRULE:FREQ=DAILY"}, "VALUE is 'PERIOD'"),
    ({"rrule": "DTSTART;TZID=Nowhere/Here:20270101T000000\nRRULE:FREQ=DAILY"}, "time zone 'Nowhere/Here'"),
    ({"rrule": "DTSTART:20270101T250000\nRRULE:FREQ=DAILY"}, "rule date '20270101T250000' cannot be read"),
    ({"rrule": "DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY;COUNT=1\nEXDATE:20270101T000000Z"}, "never fires"),
    ({"rrule": "RDATE:20200101T000000Z"}, "this schedule never fires"),
    ({"rrule": "EXDATE:20270101T000000Z"}, "neither an RRULE nor an RDATE"),
    ({"rrule": "FREQ=DAILY\nX-FOO:1"}, "allowed are DTSTART, RRULE, RDATE and EXDATE"),
    (
        {"rrule": "RDATE:" + ",".join(f"20280101T{n // 60:02}{n % 60:02}00Z" for n in range(1200))},
        "1200 dates, at most 1000",
    ),
    ({"rrule": "RDATE:" + ",".join(["20280101T000000Z"] * 2000)}, "characters, at most 32768"),
]


@pytest.mark.parametrize(("values", "reason"), WRONG, ids=lambda value: str(value)[:60])
def test_what_is_wrong_is_refused_by_its_place(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidScheduleError, match=reason):
        define("j", read_spec({"text": "x", **values}), NOW)


@pytest.mark.parametrize("schedule_id", ["", "x" * 201, "é" * 101, "a\n", "a\0", "\x1b[2J", "a\u202eb", "\ud800"])
def test_an_id_that_is_long_or_not_printable_is_refused(schedule_id: str) -> None:
    with pytest.raises(InvalidScheduleError, match="1 to 200 bytes of printable text"):
        define(schedule_id, read_spec({"every": 5, "text": "x"}), NOW)


@pytest.mark.parametrize("schedule_id", ["http://x/y z:A", "a@b", "é" * 100, "x" * 200, "日本:B"])
def test_an_id_is_any_printable_text(schedule_id: str) -> None:
    assert define(schedule_id, read_spec({"every": 5, "text": "x"}), NOW).definition.schedule_id == schedule_id
