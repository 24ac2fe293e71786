"""The duties of the steward for waiting tasks: promotion, bells, audit, trimming."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from holdfast.core.store_info import Tended
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duties.bells import FIRST_PAUSE, LAST_PAUSE, Bell
from holdfastd.steward.duties.lane_duties import AUDIT_EVERY, NEXT_PAGE, LaneAudit, lane_tending
from holdfastd.steward.duties.upkeep import (
    LONGEST_REST,
    NEXT_BATCH,
    PROMOTED_AT_ONCE,
    REMOVED_AT_ONCE,
    RETENTION_EVERY,
    promotion,
    retention,
)
from holdfastd.steward.duty import GRAIN
from tests.steward.surroundings import DutySurroundings

pytestmark = pytest.mark.anyio


@pytest.fixture
def surroundings(tmp_path: Path) -> DutySurroundings:
    return DutySurroundings(tmp_path)


async def test_promotion_rests_until_the_next_task_is_due(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["promote"] = [(2, 1250)]
    assert await promotion(surroundings.store).run_once() == 1.25


@pytest.mark.parametrize("due_in", [None, 3_600_000])
async def test_promotion_never_rests_long(surroundings: DutySurroundings, due_in: int | None) -> None:
    surroundings.store.answers["promote"] = [(0, due_in)]
    assert await promotion(surroundings.store).run_once() == LONGEST_REST


async def test_a_crowd_of_due_tasks_is_promoted_without_a_rest(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["promote"] = [(PROMOTED_AT_ONCE, 0), (PROMOTED_AT_ONCE, 0), (7, 0), (0, 40)]
    assert await promotion(surroundings.store).run_once() == 0.04
    assert len(surroundings.called("promote")) == 4


async def test_an_earlier_due_time_ends_the_rest(surroundings: DutySurroundings) -> None:
    duty = promotion(surroundings.store)
    await duty.wait(1.25)
    assert surroundings.called("wait_alarm") == [(1.25 - GRAIN,)]


async def test_the_last_of_a_rest_is_not_left_to_the_server(surroundings: DutySurroundings) -> None:
    await promotion(surroundings.store).wait(GRAIN / 10)
    assert surroundings.called("wait_alarm") == []


async def rings(bell: Bell, count: int) -> list[float]:
    return [await bell.run_once() for _ in range(count)]


async def test_an_empty_lane_is_peeked_at_and_rung_as_soon_as_it_holds_something(
    surroundings: DutySurroundings,
) -> None:
    bell = Bell(surroundings.store, "lane")
    surroundings.store.answers["ring"] = [(0, 0), (1, 0)]
    await bell.wait(await bell.run_once())
    await bell.run_once()
    assert surroundings.store.calls == [("ring", "lane"), ("peek", "lane"), ("ring", "lane")]


async def test_a_lane_whose_bells_nobody_hears_is_looked_at_ever_more_rarely(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["ring"] = [(5, 0), *[(5, 1)] * 12]
    pauses = (await rings(Bell(surroundings.store, "lane"), 13))[1:]
    assert pauses[:4] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE]
    assert pauses[-3:] == [LAST_PAUSE] * 3


async def test_a_lane_whose_bells_are_heard_is_looked_at_soon_again(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["ring"] = [(5, 0), (5, 1), (5, 1), (1, 0), (1, 0), (1, 0)]
    assert (await rings(Bell(surroundings.store, "lane"), 6))[-2:] == [FIRST_PAUSE] * 2


async def test_a_lane_that_was_empty_in_between_is_looked_at_soon_again(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["ring"] = [(5, 0), (5, 1), (5, 1), (0, 0), (1, 0)]
    assert (await rings(Bell(surroundings.store, "lane"), 5))[-1] == FIRST_PAUSE


async def test_lanes_are_tended_in_as_many_calls_as_it_takes(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["tend"] = [Tended(1, 0, 0), Tended(0, 0, 1000), Tended(2, 1, 1)]
    assert await lane_tending(surroundings.store, ["a", "b", "c"]).run_once() == 1.0
    assert surroundings.called("tend") == [("a", "b", "c"), ("b", "c"), ("b", "c")]


async def test_audit_goes_on_at_its_cursor_and_then_begins_anew(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["audit"] = [(0, "500"), (0, ""), (0, "")]
    audit = LaneAudit(surroundings.store, "lane")
    assert [await audit.run_once() for _ in range(3)] == [NEXT_PAGE, AUDIT_EVERY, AUDIT_EVERY]
    assert surroundings.called("audit") == [("lane", ""), ("lane", "500"), ("lane", "")]


async def test_vanished_entries_are_worth_a_warning(surroundings: DutySurroundings) -> None:
    surroundings.store.answers["audit"] = [(0, ""), (4, "")]
    audit = LaneAudit(surroundings.store, "lane")
    with capture_logs() as logs:
        await audit.run_once()
        await audit.run_once()
    assert [(line["log_level"], line["tasks"]) for line in logs] == [("warning", 4)]


async def test_trimming_goes_on_soon_while_there_is_more(surroundings: DutySurroundings) -> None:
    """The store removes no more than it was asked for, so a full answer is the mark of a backlog."""
    surroundings.store.answers["trim"] = [REMOVED_AT_ONCE, REMOVED_AT_ONCE - 1, 0]
    watch = ClockWatch(surroundings.store, surroundings.health, 15.0, time.monotonic)
    duty = retention(surroundings.store, keep=60.0, watch=watch)
    rests = [await duty.run_once() for _ in range(3)]
    assert rests == [NEXT_BATCH, RETENTION_EVERY, RETENTION_EVERY]
    assert surroundings.called("trim") == [(60_000, REMOVED_AT_ONCE)] * 3
