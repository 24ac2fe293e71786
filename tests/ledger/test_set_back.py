"""Redis goes back to an earlier moment: what the ledger had read by then comes back, whenever that happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from holdfast.errors import StoreUnavailableError
from holdfast.store.ledger.replicate import Replication
from tests.ledger.ledger import Ledger

pytestmark = pytest.mark.anyio


class Fickle:
    """The Redis of a ledger; something happens to it before it is asked for whole tasks, once."""

    def __init__(self, redis: Any, happens: Callable[[], Awaitable[None]]) -> None:
        self._redis, self._happens = redis, happens
        self.happened = False

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._redis, name)
        if name != "read" or self.happened:
            return call

        async def read(*args: Any) -> Any:
            self.happened = True
            await self._happens()
            return await call(*args)

        return read


async def ran_in_order(books: Ledger, *messages: str) -> None:
    """Each of these messages is the next turn of what runs."""
    for message in messages:
        [delivery] = await books.redis.take("a")
        assert message.encode() in delivery.operation
        assert await books.redis.settle("a", delivery, Settle.COMPLETED, result=b'"out"') == "OK"


async def test_between_reading_what_has_happened_and_reading_the_tasks(books: Ledger) -> None:
    """Records read then are old: they must not replace those of the ledger."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1", "t2")
    await books.keep()
    before = await books.picture()
    assert await books.message("t1", "m2") is Accepted.PENDING
    assert await books.store.pause("t2", "wait") == "suspended"
    await books.keep()
    assert await books.requests() == []
    assert await books.message("t1", "m3") is Accepted.PENDING
    await books.store.resume("t2", "go")
    await books.store.pause("t2", "wait")
    fickle: Any = Fickle(books.store.redis_ledger, lambda: books.set_back(before))
    with pytest.raises(StoreUnavailableError, match="lost data while it was read"):
        await Replication(books.queue, books.store.database, fickle).round()
    assert fickle.happened
    await books.wait_given()
    assert (await books.store.ledger()).losses == 1
    assert await books.state("t2") == "suspended"
    await ran_in_order(books, "m-t1", "m2", "m3")
    await books.redis.check()


async def test_while_it_is_rebuilt(books: Ledger) -> None:
    await books.keep()
    await books.submit("t1", "t2")
    assert await books.message("t1", "m2") is Accepted.PENDING
    await books.keep()
    await books.flush()
    while not await books.store.redis_ledger.rebuilding():
        await books.store.keep()
    before = await books.picture()  # it is being rebuilt, and nothing was put back yet
    fickle: Any = Fickle(books.store.redis_ledger, lambda: books.set_back(before))
    keeper = Replication(books.queue, books.store.database, fickle)
    while not fickle.happened:
        await keeper.round()
    [queue] = await books.rows("SELECT phase FROM holdfast_queues WHERE queue = $1", books.queue)
    assert queue["phase"] == "bounding"
    await books.wait_given()
    await books.redis.register("a")
    first, second = await books.redis.take("a")
    assert (first.task_id, second.task_id) == ("t1", "t2")
    await books.redis.settle("a", first, Settle.COMPLETED, result=b'"out"')
    await ran_in_order(books, "m2")


@pytest.mark.parametrize("claimed", [False, True])
async def test_messages_and_orders_of_a_turn_that_goes_on(books: Ledger, claimed: bool) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1", "t2")
    if claimed:
        await books.redis.take("a")
    await books.keep()
    before = await books.picture()
    assert await books.message("t1", "m2") is Accepted.PENDING
    assert await books.store.pause("t2", "wait") == ("working" if claimed else "suspended")
    await books.keep()
    assert await books.requests() == []
    await books.set_back(before)
    await books.wait_given()
    assert await books.state("t2") == "suspended"
    if claimed:
        await books.redis.crash("a", charged=False)
        await books.redis.register("b")
        for message in ("m-t1", "m2"):
            [delivery] = await books.redis.take("b")
            assert message.encode() in delivery.operation
            await books.redis.settle("b", delivery, Settle.COMPLETED, result=b'"out"')
    else:
        await ran_in_order(books, "m-t1", "m2")


async def test_to_between_a_pause_and_a_message_after_it(books: Ledger) -> None:
    """The message counts: it is the last of the orders."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1")
    [delivery] = await books.redis.take("a")
    assert await books.store.pause("t1", "wait") == "working"
    before = await books.picture()
    assert await books.message("t1", "m2") is Accepted.PENDING
    await books.keep()
    await books.set_back(before)
    await books.wait_given()
    assert await books.redis.settle("a", delivery, Settle.SUSPENDED) == "OK"
    assert await books.state("t1") == "submitted"
    [again] = await books.redis.take("a")
    assert (again.history[0], b'"m2"' in again.operation) == (delivery.operation, True)
