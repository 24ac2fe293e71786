"""The calls of programs on the timeline: `Bike`."""

from __future__ import annotations

import pytest

from holdfast.errors import UnknownScheduleError
from tests.timeline.timeline import Timeline


def test_a_job_without_a_schedule_is_unset(timeline: Timeline) -> None:
    bike = timeline.bike
    bike.set("job:A", "AT:4000000000")
    bike.set("other:A", "AT:4000000000")
    assert bike.set("job:A", None) is None
    assert set(bike.statuses()) == {"other:A"}
    with pytest.raises(UnknownScheduleError, match="no schedule job:A"):
        bike.set("job:A", None)
