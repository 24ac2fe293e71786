"""The calls of programs on the timeline: `Bike`."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidScheduleError, UnknownScheduleError
from holdfast.timeline import Bike
from tests.timeline.timeline import Timeline


def test_a_job_without_a_schedule_is_unset(timeline: Timeline) -> None:
    bike = timeline.bike
    bike.set("job:A", "AT:4000000000")
    bike.set("other:A", "AT:4000000000")
    assert bike.set("job:A", None) is None
    assert set(bike.statuses()) == {"other:A"}
    with pytest.raises(UnknownScheduleError, match="no schedule job:A"):
        bike.set("job:A", None)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("job:A", 5), "schedule 5: NOW, AT"),
        (("job:A", b"NOW"), "schedule b'NOW': NOW, AT"),
        (("job:A", ""), "schedule '' cannot be read"),
        ((None, "NOW"), "schedule id None"),
        ((5, "NOW"), "schedule id 5"),
        ((None, None), "schedule id None"),
        (("job:A", "FREQ=DAILY", "soon"), "after: time 'soon'"),
    ],
)
def test_what_is_no_job_is_refused_by_name(timeline: Timeline, words: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InvalidScheduleError, match=says):
        timeline.bike.set(*words)
    assert timeline.bike.statuses() == {}


def test_a_bike_takes_settings_and_no_worker() -> None:
    with pytest.raises(TypeError, match=r"Bike\('redis://x'\): the Settings of holdfast_config"):
        Bike("redis://x")  # type: ignore[arg-type]
