"""The decisions about due fires, beside a list of all of them: after any downtime, whatever the policies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.cadence import Every
from holdfast.core.schedules import ON_TIME, Bounds, Misfire, Plan, Schedule, SchedulePolicy, plan

INTERVALS = st.sampled_from([1_000, 7_000, 60_000])
MISFIRES = st.sampled_from([Misfire(), Misfire(latest=False), Misfire(latest=False, most=1), Misfire(False, 5)])


def listed(schedule: Schedule, now: int) -> list[int]:
    """Every moment from the expected one up to `now` that the end allows."""
    assert isinstance(schedule.cadence, Every)
    assert schedule.expected is not None
    found = range(schedule.expected, now + 1, schedule.cadence.interval)
    return [moment for moment in found if schedule.bounds.end is None or moment <= schedule.bounds.end]


def chosen(schedule: Schedule, moments: list[int], now: int) -> list[int]:
    """By the words of docs/schedules.md."""
    deadline, misfire = schedule.policy.deadline, schedule.policy.misfire
    useful = [moment for moment in moments if deadline is None or now - moment <= deadline]
    last = moments[-1]
    if (misfire.most and len(moments) > 1) or (misfire.most and now - last > ON_TIME):
        picked = useful[: misfire.most]
    elif now - last <= ON_TIME or misfire.latest:
        picked = [moment for moment in useful if moment == last]
    else:
        picked = []
    limit = schedule.bounds.limit
    return picked if limit is None else picked[: limit - schedule.fires]


@given(
    INTERVALS,
    MISFIRES,
    st.none() | st.sampled_from([500, 5_000, 60_000, 300_000]),
    st.none() | st.integers(1, 6),
    st.none() | st.integers(0, 700_000),
    st.integers(-5_000, 700_000),
)
def test_a_plan_is_what_the_policies_say(
    interval: int, misfire: Misfire, deadline: int | None, limit: int | None, end: int | None, late: int
) -> None:
    first = 1_000_000 * interval
    bounds = Bounds(end=None if end is None else first + end, limit=limit)
    schedule = Schedule("j", Every(interval, 0), bounds, SchedulePolicy(misfire=misfire, deadline=deadline), first)
    now = first + late
    planned = plan(schedule, now)
    if late < 0:
        assert planned == Plan(expected=first)
        return
    moments = listed(schedule, now)
    fires = chosen(schedule, moments, now)
    assert list(planned.fires) == fires
    left_out = [moment for moment in moments if moment not in fires]
    assert (planned.missed is not None) == bool(left_out)
    if planned.missed is not None:
        assert set(planned.missed) <= set(left_out)
        assert planned.missed[0] == left_out[0]
        assert planned.why
    following = moments[-1] + interval
    over = (limit is not None and len(fires) >= limit) or (end is not None and following > first + end)
    assert planned.expected == (None if over else following)
