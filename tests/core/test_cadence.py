"""When something happens next; the numbers in brackets are those of the schedule scenarios that we answer to."""

from __future__ import annotations

import time
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.cadence import Cadence, cron, every, following, read, restored, rule, stored, words
from holdfast.core.cadence.moments import local, moment_at, read_moment
from holdfast.errors import InvalidScheduleError

NEW_YORK = "America/New_York"
DECADE = 315_576_000_000


def moment(text: str) -> int:
    return read_moment(text + "Z", "UTC")


def fires(cadence: Cadence, after: str, number: int) -> list[str]:
    """The next ones, in UTC; fewer when they end."""
    now: int | None = moment(after)
    found: list[str] = []
    while now is not None and len(found) < number:
        now = following(cadence, now)
        found += [f"{local(now, 'UTC'):%m-%dT%H:%M}"] if now is not None else []
    return found


def test_cron_runs_what_the_clock_leaves_out_right_after_it() -> None:  # [29]
    assert fires(cron("30 2 * * *", NEW_YORK), "2027-03-13T07:30", 2) == ["03-14T07:00", "03-15T06:30"]


@pytest.mark.parametrize("after", ["2027-11-07T00:00", "2027-11-07T05:29"])
def test_cron_runs_fixed_hours_once_where_the_hour_comes_twice(after: str) -> None:  # [30]
    assert fires(cron("30 1 * * *", NEW_YORK), after, 2) == ["11-07T05:30", "11-08T06:30"]


def test_cron_looks_forward_from_within_the_second_of_two_hours() -> None:
    assert fires(cron("30 1 * * *", NEW_YORK), "2027-11-07T06:10", 1) == ["11-08T06:30"]


def test_cron_goes_on_with_the_clock_where_every_hour_is_meant() -> None:
    assert fires(cron("0 * * * *", NEW_YORK), "2027-11-07T04:30", 3) == ["11-07T05:00", "11-07T06:00", "11-07T07:00"]


def test_cron_passes_over_months_without_the_day() -> None:  # [31]
    assert fires(cron("0 0 31 * *"), "2027-02-01T00:00", 4) == [
        "03-31T00:00",
        "05-31T00:00",
        "07-31T00:00",
        "08-31T00:00",
    ]


def test_rule_passes_over_months_without_the_day_and_counts_what_was() -> None:  # [32]
    monthly = rule("DTSTART:20270131T000000Z\nRRULE:FREQ=MONTHLY;COUNT=4", "UTC", 0)
    assert fires(monthly, "2027-01-01T00:00", 9) == ["01-31T00:00", "03-31T00:00", "05-31T00:00", "07-31T00:00"]


def test_rule_skips_a_time_that_does_not_come() -> None:  # [33]
    daily = rule("DTSTART;TZID=America/New_York:20270312T023000\nRRULE:FREQ=DAILY;COUNT=3", "UTC", 0)
    assert fires(daily, "2027-03-01T00:00", 9) == ["03-12T07:30", "03-13T07:30", "03-15T06:30"]


def test_rule_without_start_begins_when_it_is_read_and_so_it_stays() -> None:  # [34]
    twice = rule("FREQ=DAILY;COUNT=2", "UTC", moment("2027-05-01T10:00"))
    assert fires(restored(stored(twice)), "2027-05-01T09:59", 9) == ["05-01T10:00", "05-02T10:00"]


@pytest.mark.parametrize(
    "parts",
    [
        "FREQ=SECONDLY",
        "FREQ=SECONDLY;BYSECOND=0,30;BYHOUR=9",
        "FREQ=MINUTELY;INTERVAL=45;BYHOUR=9",
        "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=5",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
        "FREQ=MONTHLY;BYDAY=-1FR",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
    ],
)
def test_rule_of_long_ago_costs_no_more_than_one_of_today(parts: str) -> None:  # [35]
    """Its phase is the same as if every time since then had been counted."""

    def cost(start: str) -> float:
        made = rule(f"DTSTART:{start}\nRRULE:{parts}", "UTC", 0)
        began = time.process_time()
        for _ in range(5):
            following(made, moment("2027-03-12T11:59"))
        return time.process_time() - began

    assert min(cost("19720103T000000") for _ in range(3)) < 20 * max(cost("20240101T000000"), 0.001)


@pytest.mark.parametrize(
    ("parts", "step"),
    [
        ("FREQ=HOURLY;INTERVAL=5;BYDAY=MO", 5 * 3600),
        ("FREQ=MINUTELY;INTERVAL=7;BYHOUR=3", 420),
        ("FREQ=DAILY;INTERVAL=3", 259200),
    ],
)
def test_rule_keeps_its_phase_however_far_away(parts: str, step: int) -> None:
    made = rule(f"DTSTART:19720103T000000\nRRULE:{parts}", "UTC", 0)
    start = moment("1972-01-03T00:00")
    next_ = following(made, moment("2027-03-12T11:59"))
    assert next_ is not None
    assert (next_ - start) % (step * 1000) == 0


def test_hourly_rule_loses_and_doubles_no_hour() -> None:
    hourly = rule("DTSTART;TZID=America/New_York:20271106T003000\nRRULE:FREQ=HOURLY", "UTC", 0)
    assert fires(hourly, "2027-11-07T04:00", 3) == ["11-07T04:30", "11-07T05:30", "11-07T06:30"]


def test_rule_takes_dates_out_and_puts_dates_in() -> None:
    made = rule("DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY\nEXDATE:20270313T000000Z\nRDATE:20270312T050000Z", "UTC", 0)
    assert fires(made, "2027-03-12T00:00", 3) == ["03-12T05:00", "03-14T00:00", "03-15T00:00"]


@pytest.mark.parametrize("name", ["EXDATE;VALUE=DATE", "EXDATE"])
def test_a_date_without_a_time_takes_the_day_out(name: str) -> None:
    made = rule(f"DTSTART;TZID={NEW_YORK}:20270101T213000\nRRULE:FREQ=DAILY\n{name}:20270105,20270106", "UTC", 0)
    assert fires(made, "2027-01-04T12:00", 3) == ["01-05T02:30", "01-08T02:30", "01-09T02:30"]
    assert restored(stored(made)) == made
    mixed = rule(f"DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY\n{name}:20270102,20270103T090000Z", "UTC", 0)
    assert fires(mixed, "2027-01-01T00:00", 2) == ["01-01T09:00", "01-04T09:00"]


@pytest.mark.parametrize("timezone", ["UTC", "America/Havana", "America/Sao_Paulo", "America/St_Johns"])
def test_days_that_are_taken_out_are_passed_at_once(timezone: str) -> None:
    days = ",".join(f"{1988 + at // 12}{1 + at % 12:02}{day:02}" for at in range(35) for day in range(1, 29))
    made = rule(f"DTSTART:19880101T000000\nRRULE:FREQ=SECONDLY\nEXDATE;VALUE=DATE:{days}", timezone, 0)
    assert made.following(moment("1988-01-02T12:00")) == moment_at(datetime(1988, 1, 29), timezone)  # noqa: DTZ001
    every_day = rule(str(made).replace("SECONDLY", "DAILY"), timezone, 0)
    after, found = moment("1988-01-01T00:00") - 86_400_000, []
    while (next_ := every_day.following(after)) is not None and next_ < moment("1990-12-01T00:00"):
        found.append(local(next_, timezone).day)
        assert next_ > after
        after = next_
    assert set(found) == {29, 30, 31}


def test_until_is_included_and_a_date_holds_to_its_end() -> None:
    assert (
        len(fires(rule("DTSTART:20270101T120000Z\nRRULE:FREQ=DAILY;UNTIL=20270103", "UTC", 0), "2027-01-01T00:00", 9))
        == 3
    )


def test_every_keeps_to_its_anchor() -> None:  # [13], [28]
    minute = every("1m", moment("2027-01-01T00:00"))
    assert fires(minute, "2027-01-01T16:39", 1) == ["01-01T16:40"]
    assert following(minute, moment("2026-01-01T00:00")) == moment("2027-01-01T00:00")


@given(st.integers(100, 10**9), st.integers(0, 4 * DECADE), st.integers(0, 6 * DECADE))
def test_every_is_in_phase_and_the_nearest(interval: int, anchor: int, after: int) -> None:
    next_ = every(interval / 1000, anchor).following(after)
    assert next_ > after
    assert (next_ - anchor) % interval == 0
    assert next_ - interval <= after or next_ == anchor


@pytest.mark.parametrize("text", ["*/7 3-5 * * *", "0 0 1,15 * MON", "15 */6 * * * *", "@weekly"])
@given(after=st.integers(0, 6 * DECADE))
def test_cron_goes_forward_only(text: str, after: int) -> None:
    made = cron(text, NEW_YORK)
    first = following(made, after)
    assert first is not None
    assert first > after
    assert following(made, first - 1) == first


@pytest.mark.parametrize(
    ("said", "length"), [(60, 60), ("5m", 300), ("1h30m", 5400), ("PT5M", 300), ("P1DT1H", 90000), ("0.5", 0.5)]
)
def test_intervals_are_read_in_each_spelling(said: float | str, length: float) -> None:
    assert every(said, 0).interval == length * 1000


@pytest.mark.parametrize("said", [0, -1, float("nan"), float("inf"), True, "", "P", "PT", "five", "1e99"])
def test_what_is_no_interval_is_refused(said: float | str) -> None:  # [8]
    with pytest.raises(InvalidScheduleError, match="give seconds"):
        every(said, 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0 0 31 2 *", "never fires"),  # [9]
        ("0 0 30 FEB *", "never fires"),
        ("61 * * * *", r"field 1 \(minute\) is '61'"),
        ("0 0 * * 9", r"field 5 \(day-of-week\) is '9'"),
        ("0 61 * * * *", r"field 2 \(minute\) is '61'"),
        ("* * * *", "4 fields"),
        ("", "0 fields"),
        ("@reboot", "no such name"),
        ("CRON_TZ=Mars/Base * * * * *", "Mars/Base"),
    ],
)
def test_wrong_cron_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(InvalidScheduleError, match=reason):
        cron(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "never fires"),
        ("FREQ=DAILY;UNTIL=19700101", "never fires"),
        ("FREQ=FORTNIGHTLY", "FREQ is 'FORTNIGHTLY'"),
        ("INTERVAL=2", "lacks FREQ"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL is '0'"),
        ("FREQ=DAILY;BYHOUR=25", "BYHOUR is '25'; allowed: numbers from 0 to 23"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20300101", "both COUNT and UNTIL"),
        ("FREQ=DAILY;COUNT=2;COUNT=3", "COUNT twice"),
        ("FREQ=DAILY;BYDAY=1MO", "a number in BYDAY"),
        ("FREQ=DAILY;COLOUR=RED", "'COLOUR' is no part"),
        ("DTSTART:yesterday\nRRULE:FREQ=DAILY", "'yesterday'"),
        ("DTSTART;TZID=Mars/Base:20270101T000000\nRRULE:FREQ=DAILY", "Mars/Base"),
        ("DTSTART:20270101T000000", "neither"),
        ("EXRULE:FREQ=DAILY", "allowed are DTSTART"),
        ("DTSTART:20270101T090000\nRRULE:FREQ=DAILY\nRDATE;VALUE=DATE:20270105", "write 20270105T090000"),
        ("DTSTART:20270101T090000\nRRULE:FREQ=DAILY\nEXDATE;TZID=Asia/Tokyo:20270105", "leave TZID=Asia/Tokyo out"),
    ],
)
def test_wrong_rule_is_refused_with_its_part(text: str, reason: str) -> None:  # [7]
    with pytest.raises(InvalidScheduleError, match=reason):
        rule(text, "UTC", moment("2027-01-01T00:00"))


@pytest.mark.parametrize("text", ["", "NOW:1", "tomorrow", "AT:", "AT:-5", "AT:soon", "AT:1e99", "AT:99999-01-01"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(InvalidScheduleError):
        read(text, "UTC", 0)


CADENCES: list[Cadence] = [
    cron("CRON_TZ=Europe/Berlin 0 9-17 * * MON-FRI"),
    every("90m", 1000),
    rule("FREQ=WEEKLY;BYDAY=MO;UNTIL=20300101", "Europe/Berlin", DECADE),
    rule(
        "DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY;COUNT=9\nRDATE:20270102T010000Z\nEXDATE:20270103T000000Z", "UTC", 0
    ),
    rule("DTSTART:20270101T090000\nRRULE:FREQ=DAILY\nEXDATE;VALUE=DATE:20270103", "Europe/Berlin", 0),
    *(
        read(text, "Europe/Berlin", DECADE)
        for text in ("NOW", "AT:1800000000", "AT:2027-01-01T00:00", "CONTINUE", "STOP")
    ),
]


@pytest.mark.parametrize("cadence", CADENCES, ids=str)
def test_a_store_gives_back_what_it_was_given(cadence: Cadence) -> None:
    assert restored(stored(cadence)) == cadence
    assert words(cadence)


def test_words_say_it_in_english() -> None:
    assert words(CADENCES[0]) == "At minute 0 past every hour from 9 through 17 on Monday through Friday, Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "On the last day of every month at 09:30"),
        ("FREQ=MONTHLY;BYMONTHDAY=-2", "On the second to last day of every month at 09:30"),
        ("FREQ=MONTHLY", "On the 11th of every month at 09:30"),
        ("FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1,22", "On the 1st and 22nd of every 3 months at 09:30"),
        ("FREQ=MONTHLY;BYMONTHDAY=15,-1;BYHOUR=6", "On the 15th and last of every month at 06:30"),
        ("FREQ=MONTHLY;BYDAY=1MO,-1FR", "On the first Monday and last Friday of every month at 09:30"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "On the last workday of every month at 09:30"),
        ("FREQ=MONTHLY;BYMONTH=3,9;BYMONTHDAY=1", "On the 1st of March and September at 09:30"),
        ("FREQ=YEARLY", "On the 11th of January at 09:30"),
        ("FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU", "On the last Sunday of October at 09:30"),
        ("FREQ=WEEKLY", "Every Monday at 09:30"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "Every 2 weeks on Monday and Friday at 09:30"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "Every Monday to Friday at 09:30"),
        ("FREQ=DAILY;BYHOUR=6,18;BYMINUTE=0", "Every day at 06:00 and 18:00"),
        ("FREQ=DAILY;INTERVAL=3", "Every 3 days at 09:30"),
        ("FREQ=DAILY;BYDAY=SA,SU", "Every Saturday and Sunday at 09:30"),
        ("FREQ=HOURLY;INTERVAL=6;COUNT=4", "Every 6 hours, 4 times"),
        ("FREQ=MINUTELY;UNTIL=20270201T000000Z", "Every minute, until 2027-02-01 00:00:00 UTC"),
    ],
)
def test_a_usual_rule_is_said_in_words(text: str, told: str) -> None:
    made = rule(f"DTSTART:20270111T093000\nRRULE:{text}", "Europe/Berlin", 0)
    assert words(made, brief=True) == f"{told}, Europe/Berlin"
    assert words(made) == f"{told}, from 2027-01-11 09:30:00, Europe/Berlin"


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "FREQ=YEARLY;BYMONTHDAY=1",
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
        "FREQ=YEARLY;INTERVAL=4",
        "FREQ=DAILY;INTERVAL=2;BYDAY=MO",
        "FREQ=DAILY;BYHOUR=1,2,3,4,5",
        "FREQ=MONTHLY;BYDAY=MO,2TU",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=6,18",
        "FREQ=MINUTELY;BYHOUR=9",
    ],
)
def test_a_rule_of_another_form_stands_as_it_is_written(text: str) -> None:
    made = rule(f"DTSTART:20270111T093000\nRRULE:{text}", "Europe/Berlin", 0)
    assert words(made).startswith(f"{made.recurrences[0]}, from 2027-01-11")


def test_brief_words_leave_out_the_moment_that_a_cadence_counts_from() -> None:
    assert words(every(300, 0), brief=True) == "Every 5 minutes"
    assert words(read("CONTINUE", "UTC", DECADE), brief=True) == "Again whenever a run has ended"


def test_a_series_has_no_doubles() -> None:
    made = rule(
        "DTSTART;TZID=Australia/Lord_Howe:20270101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=10;BYHOUR=0,1,2", "UTC", 0
    )
    now = moment("2027-04-03T12:00")
    moments = [now := following(made, now) or 0 for _ in range(60)]
    assert all(earlier < later for earlier, later in pairwise(moments))


@pytest.mark.parametrize("text", ["0 9 * jan mon-fri", "0 9 * JAN Mon-Fri", "0 9 lw jan-mar *", "0 9 * * mon#1,sun"])
def test_names_of_days_and_months_are_the_same_in_small_letters(text: str) -> None:
    small, capital = cron(text.lower()), cron(text.upper())
    assert small == capital
    assert words(small) == words(capital)
    assert restored(stored(small)) == small


def test_a_fault_is_told_as_it_was_written() -> None:
    with pytest.raises(InvalidScheduleError, match=r"cron '0 9 \* \* mox': field 5 \(day-of-week\) is 'mox'"):
        cron("0 9 * * mox")


@pytest.mark.parametrize("name", ["localtime", "posixrules", "+02:00", "", "../UTC", "/etc/localtime"])
def test_a_zone_that_is_another_on_each_host_is_none(name: str) -> None:
    with pytest.raises(InvalidScheduleError, match="is unknown: give an IANA name"):
        cron("0 9 * * *", name)


@pytest.mark.parametrize(
    ("interval", "told"), [(1_234_567, "1234567 s"), (1_000_000.25, "1000000.25 s"), (0.1, "0.1 s"), (10, "10 s")]
)
def test_words_have_all_digits_of_an_interval(interval: float, told: str) -> None:
    assert words(every(interval, 0)).startswith(f"Every {told}, counted from")
