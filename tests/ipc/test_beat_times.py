"""Processes report at the same moments, once a second."""

from __future__ import annotations

import pytest

from holdfast.ipc.channel import GROUPS, INTERVAL, TOGETHER, until_next

MOMENTS = [0.0, 0.3, 0.74, 0.76, 0.9996, 1234.5, 86400.25]


@pytest.mark.parametrize("now", MOMENTS)
def test_all_processes_of_a_small_pool_report_at_the_same_moment(now: float) -> None:
    moments = {round((now + until_next(now, slot)) % INTERVAL, 6) for slot in range(TOGETHER)}
    assert moments in ({0.0}, {INTERVAL})


@pytest.mark.parametrize("now", MOMENTS)
@pytest.mark.parametrize("slot", [0, TOGETHER, 7 * TOGETHER, 1000 * TOGETHER + 1])
def test_a_report_is_never_late_and_none_is_repeated_for_a_timer_that_was_early(now: float, slot: int) -> None:
    assert INTERVAL / 4 < until_next(now, slot) <= 1.25 * INTERVAL


def test_the_workers_of_a_large_pool_do_not_all_report_at_once() -> None:
    moments = [round(until_next(0.5, slot) % INTERVAL, 6) % INTERVAL for slot in range(TOGETHER * GROUPS)]
    assert {moments.count(moment) for moment in moments} == {TOGETHER}
