"""When a task that failed is tried again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.settle import LONGEST, RetryPolicy, asked_wait, back_off

POLICY = RetryPolicy(max_attempts=3, base=1.0, cap=300.0)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (5000, 300)])
def test_the_wait_doubles_up_to_the_cap(attempts: int, seconds: float) -> None:
    assert back_off(POLICY, attempts, 0.0) == seconds


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_jitter_takes_at_most_a_half(attempts: int, jitter: float) -> None:
    whole = back_off(POLICY, attempts, 0.0)
    assert whole / 2 <= back_off(POLICY, attempts, jitter) <= whole <= POLICY.cap


def test_jitter_spreads_what_failed_together() -> None:
    assert len({back_off(POLICY, 1, jitter / 10) for jitter in range(11)}) == 11


@pytest.mark.parametrize(
    ("asked", "granted"),
    [(0, 0), (2.5, 2.5), (-1, 0), (math.nan, 0), (math.inf, LONGEST), (-math.inf, 0), (1e300, LONGEST)],
)
def test_what_a_handler_asks_for_is_kept_within_reason(asked: float, granted: float) -> None:
    assert asked_wait(asked) == granted
