"""Durations are plain seconds, or numbers with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_config.durations import seconds, shortest

WRITTEN = {
    "90": 90.0, "1.5": 1.5, " 90s ": 90.0, "5m": 300.0, "1h30m": 5400.0, "7d": 604800.0, "250ms": 0.25,
    "1d2h3m4s5ms": 93784.005, "1.5H": 5400.0, "0": 0.0, "1e3": 1000.0,
}  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), WRITTEN.items())
def test_a_written_duration_is_seconds(written: str, expected: float) -> None:
    assert seconds(written) == expected


@pytest.mark.parametrize("value", ["", "s", "1h30", "30m1h", "5 m", "1y", "inf", "nan", "--1", True, None, [1], b"1"])
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        seconds(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_itself(number: float) -> None:
    assert seconds(number) == number == seconds(repr(number))


@given(*[st.integers(0, 999)] * 3)
def test_units_add_up(hours: int, minutes: int, rest: int) -> None:
    assert seconds(f"{hours}h{minutes}m{rest}s") == hours * 3600 + minutes * 60 + rest


@pytest.mark.parametrize(
    "length", [0.0, 5.6e-179, 5e-7, 0.05, 0.001, 1.5, 90.0, 86400.0, 1_234_567.0, 1_234_567.891, 86400.0 * 1_234_567]
)
def test_the_shortest_text_of_a_duration_is_a_duration(length: float) -> None:
    assert seconds(shortest(length)) == pytest.approx(length, abs=1e-9)
