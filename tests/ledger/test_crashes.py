"""A producer or a steward dies between the two stores: what PostgreSQL has, happens; and it happens once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from holdfast.core.delivery import Settle
from holdfast_config.kill_spec import Point
from tests.ledger.crashing import crash
from tests.ledger.ledger import Ledger
from tests.ledger.server import Server

pytestmark = pytest.mark.anyio

Crash = Callable[..., None]


@pytest.fixture
def crashed(books: Ledger, server_url: str, postgres_server: Server) -> Crash:
    """Kills one who does something to this queue at a point: crashed(Point.WRITTEN, "submit", "t1")."""

    def at(point: Point, what: str, *ids: str, nth: int = 1) -> None:
        crash(point, what, server_url, postgres_server, books.queue, *ids, nth=nth)

    return partial(at)


@pytest.mark.parametrize("point", [Point.WRITTEN, Point.GIVEN])
async def test_a_producer_that_dies_at(books: Ledger, crashed: Crash, point: Point) -> None:
    await books.keep()
    crashed(point, "submit", "t1", "t2")
    assert [row["given"] for row in await books.requests()] == [None, None]
    assert len(await books.redis.entries()) == (0 if point is Point.WRITTEN else 2)
    await books.wait_given()
    await books.redis.register("a")
    assert [each.task_id for each in await books.redis.take("a")] == ["t1", "t2"]
    assert await books.redis.entries() == []
    await books.redis.check()


@pytest.mark.parametrize("point", [Point.WRITTEN, Point.GIVEN])
async def test_a_cancel_whose_producer_dies_at(books: Ledger, crashed: Crash, point: Point) -> None:
    await books.keep()
    await books.submit("t1")
    crashed(point, "cancel", "t1")
    await books.wait_given()
    assert await books.state("t1") == "canceled"
    assert await books.requests() == []


async def test_a_request_that_was_carried_out_is_not_carried_out_again(books: Ledger) -> None:
    """It was given, its producer died; the task was paused anew since: the old resume must not touch it."""
    await books.keep()
    await books.submit("t1")
    await books.store.pause("t1", "wait")
    await books.store.resume("t1", "go")
    [resume] = [row["id"] for row in await books.requests() if row["verb"] == "resume"]
    await books.redis.store.pause("t1", "wait once more")
    [queue] = await books.rows("SELECT epoch FROM holdfast_queues WHERE queue = $1", books.queue)
    assert await books.store.redis_ledger.ask(queue["epoch"], resume, "resume", "t1", "go") == "suspended"
    assert await books.state("t1") == "suspended"


@pytest.mark.parametrize("point", [Point.INGESTING, Point.INGESTED])
async def test_a_steward_that_dies_at(books: Ledger, crashed: Crash, point: Point) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1", "t2")
    [delivery] = await books.redis.take("a", 1)
    await books.redis.settle("a", delivery, Settle.COMPLETED, result=b'"out"')
    crashed(point, "keep")
    assert len(await books.requests()) == (2 if point is Point.INGESTING else 0)
    await books.keep()
    assert await books.states() == {"t1": "completed", "t2": "submitted"}
    assert await books.requests() == []


@pytest.mark.parametrize(("point", "nth"), [(Point.RESTORED, 1), (Point.RESTORED, 3), (Point.INGESTED, 2)])
async def test_a_steward_that_dies_while_it_rebuilds(books: Ledger, crashed: Crash, point: Point, nth: int) -> None:
    await books.keep()
    names = [f"t{n:03}" for n in range(350)]
    await books.submit(*names)
    await books.keep()
    await books.flush()
    crashed(point, "keep", nth=nth)
    await books.keep()
    await books.redis.register("a")
    assert [each.task_id for each in await books.redis.take("a", 400)] == names
    assert (await books.store.ledger()).losses == 1
    await books.redis.check()
