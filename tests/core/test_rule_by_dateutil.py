"""Rules beside dateutil's own walk from DTSTART, which is slow and ends nowhere, but tries every step.

`test_rule_by_days` has the rules that dateutil reads wrongly.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

import pytest
from dateutil.rrule import rrulestr

from holdfast.core.cadence import following, restored, rule, stored
from holdfast.core.cadence.moments import exists, moment_at
from holdfast.errors import InvalidScheduleError

RULES = [
    "FREQ=YEARLY",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=YEARLY;BYWEEKNO=1,53;BYDAY=MO,SU;WKST=SU",
    "FREQ=YEARLY;BYYEARDAY=1,100,-1;BYHOUR=2,14;BYMINUTE=30",
    "FREQ=YEARLY;BYDAY=2SU,-1FR;BYHOUR=2",
    "FREQ=YEARLY;BYMONTH=3;BYDAY=SU;BYSETPOS=3",
    "FREQ=MONTHLY",
    "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=31,-2",
    "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1,1;BYHOUR=9,17",
    "FREQ=MONTHLY;INTERVAL=7;BYDAY=1MO,-1SU;COUNT=9",
    "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU,SU;WKST=SU",
    "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU,SU;WKST=MO",
    "FREQ=WEEKLY;BYMONTH=3,11;BYHOUR=1,2,3;BYMINUTE=0,30",
    "FREQ=DAILY",
    "FREQ=DAILY;INTERVAL=11;BYDAY=SU,MO",
    "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,20,40;BYSETPOS=4,-1",
    "FREQ=DAILY;INTERVAL=2;BYMONTH=3,11;BYMONTHDAY=1,-1,14;COUNT=12",
    "FREQ=HOURLY;INTERVAL=5;BYDAY=SU",
    "FREQ=HOURLY;BYMINUTE=0,20,40;BYSETPOS=2,-1",
    "FREQ=HOURLY;INTERVAL=7;BYHOUR=1,2,3;BYSECOND=0,30",
    "FREQ=HOURLY;BYYEARDAY=73,311;BYHOUR=0,1,2,3",
    "FREQ=MINUTELY;INTERVAL=45;BYHOUR=1,2,3",
    "FREQ=MINUTELY;BYHOUR=2;BYMINUTE=5,55;BYSECOND=9,0;BYMONTH=3,11",
    "FREQ=MINUTELY;INTERVAL=100;BYDAY=SA;COUNT=25",
    "FREQ=MINUTELY;INTERVAL=3000;BYMONTH=3",
    "FREQ=SECONDLY;INTERVAL=90;BYHOUR=2",
    "FREQ=SECONDLY;INTERVAL=7;BYMINUTE=59;BYHOUR=1,2",
    "FREQ=SECONDLY;INTERVAL=5003;BYDAY=SU;BYSECOND=0,20,40",
    "FREQ=SECONDLY;BYSECOND=0,30;BYMINUTE=0;BYHOUR=2;COUNT=30",
]
STARTS = ["20260131T021700", "20270314T000009"]
ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe"]


def by_dateutil(text: str, start: datetime, name: str) -> Iterator[int]:
    plain, _, count = text.partition(";COUNT=")
    walls = rrulestr(plain, dtstart=start)
    return islice((moment_at(wall, name) for wall in walls if exists(wall, name)), int(count) if count else None)


@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("text", RULES)
def test_a_rule_fires_when_dateutil_says_so(text: str, start: str, name: str) -> None:
    wanted = list(islice(by_dateutil(text, datetime.fromisoformat(start), name), 40))
    made = restored(stored(rule(f"DTSTART;TZID={name}:{start}\nRRULE:{text}", "UTC", 0)))
    found, now = list[int](), -1
    while len(found) < 40 and (moment := following(made, now)) is not None:
        found.append(moment)
        now = moment
    assert found == wanted
    for after in random.Random(text).sample(range(wanted[0], wanted[-1]), 10):
        assert following(made, after) == min(moment for moment in wanted if moment > after)


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=HOURLY;INTERVAL=2;BYMONTHDAY=1,4;BYDAY=SU,FR;BYYEARDAY=166,281;BYHOUR=2,4,23",
        "FREQ=YEARLY;BYDAY=MO;BYMONTH=7;BYMONTHDAY=13;BYYEARDAY=2",
        "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1",
        "FREQ=MINUTELY;INTERVAL=9999998;BYHOUR=3;BYMINUTE=1",
        "FREQ=DAILY;BYMONTH=5,3;BYSETPOS=2",
        "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=7",
    ],
)
def test_what_never_comes_is_found_out_by_a_bounded_search(text: str) -> None:
    with pytest.raises(InvalidScheduleError, match="never fires"):
        rule(f"DTSTART:20260101T000000Z\nRRULE:{text}", "UTC", 0)
