"""Histograms: quantiles are within a bucket's width, and merging is adding."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.rollup import bucketed, lower_bound, merged, quantile

SECONDS = st.floats(1e-5, 1e5)
SAMPLES = st.lists(SECONDS, min_size=1, max_size=200)


@given(SECONDS)
def test_a_sample_lies_within_the_bounds_of_its_bucket(sample: float) -> None:
    [bucket] = bucketed([sample])
    assert lower_bound(bucket) <= (sample + 1e-6) * (1 + 1e-9)
    assert sample < lower_bound(bucket + 1) * (1 + 1e-9)


def test_a_bucket_is_nine_percent_wide() -> None:
    assert math.isclose(lower_bound(8), 2.0)
    assert 1.09 < lower_bound(1) / lower_bound(0) < 1.1


@given(SAMPLES, st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_is_within_a_tenth_of_the_exact_one(samples: list[float], share: float) -> None:
    exact = sorted(samples)[max(0, math.ceil(share * len(samples)) - 1)]
    found = quantile(bucketed(samples), share)
    assert found is not None
    assert exact / 1.2 <= found <= exact * 1.2


@given(SAMPLES, SAMPLES)
def test_the_histogram_of_all_samples_is_the_sum(first: list[float], second: list[float]) -> None:
    assert merged([bucketed(first), bucketed(second)]) == bucketed(first + second)


def test_without_samples_there_is_no_quantile() -> None:
    assert quantile({}, 0.5) is None
    assert quantile({3: 0}, 0.5) is None


def test_no_time_at_all_is_the_shortest_duration() -> None:
    [bucket] = bucketed([0.0])
    assert lower_bound(bucket) <= 1e-6
