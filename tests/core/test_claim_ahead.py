"""How many tasks may wait in a worker, by what it has learnt of how long its tasks take."""

from __future__ import annotations

import pytest

from holdfast.core.pull_protocol import AHEAD_WORK, ENDED, LONG, MOST, TaskDurations


def learnt(*seconds: float) -> TaskDurations:
    durations = TaskDurations()
    for ended, each in enumerate(seconds, 1):
        durations.note(each)
        durations.estimate(ended)
    return durations


def test_nothing_waits_until_enough_has_ended() -> None:
    assert learnt(*[0.001] * (ENDED - 1)).claims_ahead(10) == 0
    assert learnt(*[0.001] * ENDED).claims_ahead(10) == MOST


@pytest.mark.parametrize("seconds", [LONG * 1.01, 1.0, 600.0])
def test_nothing_waits_where_a_task_takes_long(seconds: float) -> None:
    assert learnt(*[seconds] * ENDED).claims_ahead(10) == 0
    assert learnt(*[0.001] * 100, seconds).claims_ahead(10) == 0  # at once


@pytest.mark.parametrize("seconds", [0.0, 0.0001, 0.01, 0.02, 0.04, LONG])
@pytest.mark.parametrize("concurrency", [1, 10, 1000])
def test_what_waits_is_bounded_work(seconds: float, concurrency: int) -> None:
    ahead = learnt(*[seconds] * ENDED).claims_ahead(concurrency)
    assert 0 < ahead <= MOST
    assert ahead * seconds <= concurrency * AHEAD_WORK


def test_quicker_tasks_are_believed_slowly() -> None:
    durations = learnt(*[0.001] * ENDED, LONG * 2)
    counts = []
    for _ in range(100):
        durations.note(0.001)
        durations.estimate(durations.ended + 1)
        counts.append(durations.claims_ahead(10))
    assert counts[0] == 0
    assert counts == sorted(counts)
    assert counts[-1] == MOST


def test_many_that_have_ended_count_as_one_after_the_other() -> None:
    one, many = learnt(*[0.001] * ENDED, LONG), learnt(*[0.001] * ENDED, LONG)
    for _ in range(8):
        one.note(0.001)
        one.estimate(one.ended + 1)
    many.note(0.001)
    many.estimate(many.ended + 8)
    assert many.seconds == pytest.approx(one.seconds)


def test_without_an_end_the_estimate_stays() -> None:
    durations = learnt(*[0.01] * ENDED)
    durations.estimate(ENDED)
    assert durations.seconds == pytest.approx(0.01)
