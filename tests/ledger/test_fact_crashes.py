"""A caller that changes a schedule dies between the two stores, or the steward does: the request holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.client.schedules import Schedules
from holdfast.errors import StoreUnavailableError
from holdfast_config.kill_spec import Point
from tests.ledger.crashing import crash
from tests.ledger.ledger import Ledger
from tests.ledger.server import Server

pytestmark = pytest.mark.anyio

Crash = Callable[..., None]

BETWEEN = pytest.mark.parametrize("point", [Point.WRITTEN, Point.GIVEN])
LOST = pytest.mark.parametrize("lost", [False, True], ids=["", "and-redis-is-lost"])


@pytest.fixture
def crashed(books: Ledger, server_url: str, postgres_server: Server) -> Crash:
    """Kills one who does something to this queue at a point: crashed(Point.WRITTEN, "set", "j")."""

    def at(point: Point, what: str, *ids: str, nth: int = 1) -> None:
        crash(point, what, server_url, postgres_server, books.queue, *ids, nth=nth)

    return at


@pytest.fixture
def schedules(books: Ledger) -> Schedules:
    return Schedules(books.store, books.queue)


async def after(books: Ledger, *, lost: bool) -> None:
    """The steward goes on; or it finds Redis emptied."""
    if lost:
        await books.flush()
    await books.wait_given()
    assert await books.requests() == []


async def names(schedules: Schedules) -> list[str]:
    return sorted(each.definition.schedule_id for each in (await schedules.list()).schedules)


@LOST
@BETWEEN
async def test_a_schedule_whose_setter_dies_is_set(
    books: Ledger, crashed: Crash, schedules: Schedules, point: Point, lost: bool
) -> None:
    await books.keep()
    crashed(point, "set", "j")
    assert [row["given"] for row in await books.requests()] == [None]
    assert await names(schedules) == ([] if point is Point.WRITTEN else ["j"])
    await after(books, lost=lost)
    record = await schedules.get("j")
    assert (record.generation, record.fires) == (1, 0)


async def test_a_later_change_does_not_overtake_one_that_waits(
    books: Ledger, crashed: Crash, schedules: Schedules
) -> None:
    await books.keep()
    crashed(Point.WRITTEN, "set", "j")
    with pytest.raises(StoreUnavailableError, match="schedule j is kept"):
        await books.store.remove_schedule("j")
    await after(books, lost=False)
    assert await names(schedules) == []


@LOST
@BETWEEN
async def test_a_schedule_whose_remover_dies_stays_removed(
    books: Ledger, crashed: Crash, schedules: Schedules, point: Point, lost: bool
) -> None:
    await books.keep()
    await schedules.upsert("j", every="1m", text="go")
    await books.keep()
    crashed(point, "remove", "j")
    await after(books, lost=lost)
    assert await names(schedules) == []
    await books.lose()
    assert await names(schedules) == []


@BETWEEN
async def test_a_pause_whose_asker_dies_holds(
    books: Ledger, crashed: Crash, schedules: Schedules, point: Point
) -> None:
    await books.keep()
    await schedules.upsert("j", every="1m", text="go")
    await books.keep()
    crashed(point, "pause", "j")
    await after(books, lost=True)
    assert (await schedules.get("j")).paused == "enough"


async def test_a_lane_whose_closer_dies_is_closed(books: Ledger, crashed: Crash) -> None:
    await books.keep()
    crashed(Point.GIVEN, "close")
    await after(books, lost=True)
    [lane] = (await books.store.lanes([books.queue])).lanes
    assert lane.is_paused


@pytest.mark.parametrize("point", [Point.INGESTING, Point.INGESTED])
async def test_a_steward_that_dies_while_it_reads_schedules(
    books: Ledger, crashed: Crash, schedules: Schedules, point: Point
) -> None:
    await books.keep()
    await schedules.upsert("stays", every="1m", text="go")
    await schedules.upsert("goes", every="1m", text="go")
    await schedules.remove("goes")
    crashed(point, "keep")
    assert len(await books.requests()) == (3 if point is Point.INGESTING else 0)
    await books.lose()
    assert await names(schedules) == ["stays"]
    assert await books.requests() == []


@pytest.mark.parametrize("nth", [1, 2])
async def test_a_steward_that_dies_while_it_puts_schedules_back(
    books: Ledger, crashed: Crash, schedules: Schedules, nth: int
) -> None:
    """First it puts back what is said of lanes, then schedules; what was asked since is done, and done once."""
    await books.keep()
    await books.store.pause_lane(books.queue, "closed")
    await schedules.upsert("pauses", every="1m", text="go")
    await schedules.upsert("goes", every="1m", text="go")
    await books.keep()
    await schedules.pause("pauses", "enough")
    await schedules.remove("goes")
    await books.flush()
    crashed(Point.RESTORED, "keep", nth=nth)
    await books.wait_given()
    assert await names(schedules) == ["pauses"]
    assert (await schedules.get("pauses")).paused == "enough"
    assert await books.requests() == []
    [lane] = (await books.store.lanes([books.queue])).lanes
    assert lane.is_paused
    await books.redis.check()
