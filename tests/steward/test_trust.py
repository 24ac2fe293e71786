"""When leases are believed: a table of what the store looked like before and looks like now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfastd.steward.clock_watch import ClockSample, doubt, tolerance

BEFORE = ClockSample(at=100.0, took=0.001, clock_ms=5_000_000, run_id="one", outages=2)
CALM = replace(BEFORE, at=102.0, clock_ms=5_002_000)
TOLERANCE = 1.5


def test_an_undisturbed_store_is_believed() -> None:
    assert doubt(BEFORE, CALM, TOLERANCE) == ""


@pytest.mark.parametrize("off_ms", [-1400, 1400])
def test_a_drift_within_the_tolerance_is_believed(off_ms: int) -> None:
    assert doubt(BEFORE, replace(CALM, clock_ms=CALM.clock_ms + off_ms), TOLERANCE) == ""


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (replace(CALM, run_id="two"), "restarted or failed over"),
        (replace(CALM, outages=3), "away"),
        (replace(CALM, took=1.6), "1.6 s late"),
        (replace(CALM, clock_ms=CALM.clock_ms + 3_600_000), "apart by 3600.0 s"),
        (replace(CALM, clock_ms=CALM.clock_ms - 3_600_000), "apart by -3600.0 s"),
        (replace(CALM, clock_ms=CALM.clock_ms + 60_000), "apart by 60.0 s"),  # the host slept, the store did not
    ],
)
def test_every_disturbance_makes_leases_doubtful(now: ClockSample, why: str) -> None:
    assert why in doubt(BEFORE, now, TOLERANCE)


def test_a_steward_without_a_past_believes_nothing() -> None:
    assert doubt(None, CALM, TOLERANCE)


def test_the_tolerance_is_a_tenth_of_the_lease_but_never_tiny() -> None:
    assert (tolerance(15.0), tolerance(0.3)) == (1.5, 0.5)
