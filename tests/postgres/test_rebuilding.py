"""A Redis that has lost everything is rebuilt from the ledger."""

from __future__ import annotations

import pytest

from holdfast.core.deliveries import Settle
from holdfast.core.states import State
from tests.postgres.ledger import Ledger

pytestmark = pytest.mark.anyio


async def test_what_was_accepted_and_what_came_of_it_outlives_redis(books: Ledger) -> None:
    await books.keep()
    await books.submit("done", "waits", "runs")
    await books.redis.register("a")
    first, second = await books.redis.take("a", 2)
    assert await books.redis.settle("a", first, Settle.COMPLETED, result=b'"out"') == "OK"
    assert second.task_id == "waits"
    await books.keep()
    await books.flush()
    await books.keep()
    assert (await books.store.get("done")).state is State.COMPLETED  # type: ignore[union-attr]  # it is there
    await books.redis.register("b")
    assert [each.task_id for each in await books.redis.take("b")] == ["waits", "runs"]
    await books.redis.check()
