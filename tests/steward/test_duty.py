"""All duties outlive an absent store and a bug."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from holdfast.core.counts import KeptTask
from holdfast.errors import StoreRefusedError
from holdfastd.steward.duties.store_duties import LOOK_EVERY, OTHERS_TURN, LedgerDuty
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


class Ledger:
    """`kept`: what came of one round. `news` waits for events, and is told for how long."""

    def __init__(self, kept: KeptTask) -> None:
        self._kept = kept
        self.waited: list[float] = []

    async def keep(self) -> KeptTask:
        return self._kept

    async def news(self, seconds: float) -> None:
        self.waited.append(seconds)


@pytest.mark.parametrize(
    ("kept", "following", "waits"),
    [
        (KeptTask(), OTHERS_TURN, True),
        (KeptTask(more=True), 0.0, False),
        (KeptTask(busy=True), OTHERS_TURN, False),
        (KeptTask(busy=True, more=True), 0.0, False),
        (KeptTask(rebuilding=True), OTHERS_TURN, True),
    ],
)
async def test_the_ledger_goes_on_at_once_while_events_are_left_and_else_waits_for_news(
    surroundings: DutySurroundings, kept: KeptTask, following: float, waits: bool
) -> None:
    ledger: Any = Ledger(kept)
    duty = LedgerDuty(ledger, surroundings.health).duty()
    assert await duty.run_once() == following
    assert surroundings.health.degraded == ("Redis is being rebuilt from PostgreSQL" if kept.rebuilding else "")
    assert duty.wait is not None
    await duty.wait(0.0)
    assert ledger.waited == ([LOOK_EVERY] if waits else [])
