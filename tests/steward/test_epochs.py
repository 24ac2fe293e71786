"""A store that comes back empty: who knew what it held says so, once, and everybody can read it."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from holdfast.core.counts import Epoch
from holdfastd.steward.duties.store_duties import LOUD_FOR, EmptiedStore
from holdfastd.steward.duty import Health
from tests.steward.surroundings import FakeStore

pytestmark = pytest.mark.anyio

EMPTY = "the store is empty after a restart or a flush: all its data is lost"


async def losses_logged(*seen: Epoch) -> tuple[list[int], Health]:
    """The numbers of tasks that were logged as lost while these were seen one after another."""
    health = Health()
    epochs = EmptiedStore(FakeStore({"epoch": list(seen)}), health)
    with capture_logs() as lines:
        for _ in seen:
            await epochs.run_once()
    return [line["tasks"] for line in lines if line["event"] == EMPTY], health


async def test_one_life_is_nothing_to_speak_of() -> None:
    logged, health = await losses_logged(Epoch("a", 0), Epoch("a", 7))
    assert (logged, health.degraded) == ([], "")


async def test_another_life_is_said_once_with_what_was_known_of_the_last() -> None:
    logged, health = await losses_logged(Epoch("a", 7), Epoch("b", 0, 0, 7), Epoch("b", 1, 1000, 7))
    assert logged == [7]
    assert health.degraded == "the store came back empty: all its data is lost (7 tasks were known)"


async def test_who_starts_later_shows_it_as_well_for_a_while() -> None:
    logged, health = await losses_logged(Epoch("b", 1, 1000, 7))
    assert logged == []
    assert "came back empty" in health.degraded
    logged, health = await losses_logged(Epoch("b", 1, 1000, 7), Epoch("b", 1, round(LOUD_FOR * 1000), 7))
    assert health.degraded == ""
