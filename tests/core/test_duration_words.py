"""Durations in words."""

from __future__ import annotations

import pytest

from holdfast.core.words import duration, fine_duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0ms"),
        (0.00000104, "0ms"),
        (0.000002, "2us"),
        (0.00025, "250us"),
        (0.000999, "999us"),
        (0.0009999, "1ms"),
        (0.00321, "3.21ms"),
        (0.9994, "999ms"),
        (0.9996, "1.0s"),
        (1.5, "1.5s"),
        (245, "4m 5s"),
    ],
)
def test_a_short_duration_has_three_figures(seconds: float, words: str) -> None:
    assert fine_duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0.0s"), (3.2, "3.2s"), (7380, "2h 3m"), (9 * 86400 + 3600, "9d 1h")]
)
def test_a_duration_has_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words
