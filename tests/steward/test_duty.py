"""All duties outlive an absent store and a bug."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from holdfast.errors import StoreRefusedError
from holdfastd.steward.duty import Duty, Health
from tests.steward.surroundings import AWAY, DutySurroundings, run_until

pytestmark = pytest.mark.anyio


@pytest.fixture
def surroundings(tmp_path: Path) -> DutySurroundings:
    return DutySurroundings(tmp_path)


def failing(times: int, error: Exception) -> tuple[Callable[[], Awaitable[float]], list[str]]:
    log: list[str] = []

    async def run_once() -> float:
        log.append("failed" if len(log) < times else "done")
        if len(log) <= times:
            raise error
        return 0.0

    return run_once, log


async def test_a_duty_goes_on_when_the_store_is_back(surroundings: DutySurroundings) -> None:
    run_once, log = failing(2, AWAY)
    await run_until(Duty("promotion", run_once), surroundings.health, lambda: "done" in log)
    assert log[:3] == ["failed", "failed", "done"]
    assert surroundings.health.degraded == ""
    assert surroundings.health.outages == 2


async def test_a_bug_in_a_duty_is_logged_with_its_traceback_and_tried_again(surroundings: DutySurroundings) -> None:
    run_once, log = failing(1, ZeroDivisionError("a bug"))
    with capture_logs() as logs:
        await run_until(Duty("audit", run_once), surroundings.health, lambda: "done" in log)
    (line,) = [line for line in logs if line["log_level"] == "error"]
    assert isinstance(line["exc_info"], ZeroDivisionError)


async def test_a_duty_that_cannot_be_done_shows_why(surroundings: DutySurroundings) -> None:
    run_once, log = failing(10**9, StoreRefusedError("it evicts"))
    await run_until(Duty("fitness", run_once), surroundings.health, lambda: len(log) == 2)
    assert surroundings.health.degraded == "it evicts"


@pytest.mark.parametrize(
    ("error", "outages"),
    [
        (AWAY, 2),
        (ExceptionGroup("of a duty that does several things at once", [AWAY]), 2),
        (StoreRefusedError("it evicts"), 0),
        (ZeroDivisionError(), 0),
    ],
)
async def test_only_a_store_that_was_away_makes_leases_doubtful(
    surroundings: DutySurroundings, error: Exception, outages: int
) -> None:
    run_once, log = failing(2, error)
    with capture_logs():
        await run_until(Duty("audit", run_once), surroundings.health, lambda: "done" in log)
    assert surroundings.health.outages == outages


def test_the_steward_is_degraded_until_every_duty_is_well() -> None:
    health = Health()
    with capture_logs() as logs:
        health.report("vouching", "away")
        health.report("recovery", "away")
        health.report("recovery", "away")
        health.clear("vouching")
        assert health.degraded == "away"
        health.clear("recovery")
        health.clear("recovery")
    assert health.degraded == ""
    assert [line["event"] for line in logs] == ["steward is degraded", "steward is no longer degraded"]
