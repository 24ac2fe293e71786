"""The kinds of errors of tasks that Redis has lost or forgotten, while PostgreSQL has them."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.error_kinds import ErrorKind
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from tests.ledger.ledger import Ledger

pytestmark = pytest.mark.anyio

A, B = "ValueError\nshop.tasks:pay\nno customer #", "KeyError\nshop.tasks:pay\n…"


async def fail(books: Ledger, task_id: str, error: str) -> None:
    await books.submit(task_id)
    await books.keep()
    [delivery] = await books.redis.take("a", 1)
    assert await books.redis.settle("a", delivery, Settle.EXHAUSTED, result=b"{}", error=error) == "OK"
    await books.keep()


async def kinds(books: Ledger) -> list[ErrorKind]:
    return list((await books.store.error_kinds(None, 0, 0, 10))[1])


async def ids(books: Ledger, kind: str) -> list[str]:
    page = await books.store.tasks(Wanted(states=(State.FAILED,), error=kind), 10)
    return sorted(task.task_id for task in page.tasks)


async def test_kinds_come_back_with_their_tasks_after_a_loss(books: Ledger) -> None:
    await books.keep()
    kept = await books.picture()
    await books.redis.register("a")
    for task_id, error in {"t1": A, "t2": A, "t3": B}.items():
        await fail(books, task_id, error)
    await books.store.retry("t2", "")
    before = await kinds(books)
    [kind] = [each.kind_id for each in before if each.type == "ValueError"]
    await books.keep()
    await books.set_back(kept)
    await books.keep()
    after = {each.kind_id: (each.handler, each.message, each.failed, each.dead) for each in await kinds(books)}
    assert after == {each.kind_id: (each.handler, each.message, each.failed, each.dead) for each in before}
    assert await ids(books, kind) == ["t1", "t2"]
    await books.redis.check()


async def test_the_filter_finds_tasks_that_only_the_ledger_remembers(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    for task_id, error in {"t1": A, "t2": B, "t3": A}.items():
        await fail(books, task_id, error)
    kind = (await books.redis.task("t1")).error_kind
    await books.redis.advance(1000)
    assert await books.store.trim(0, 10) == 3
    assert await kinds(books) == []
    assert await ids(books, kind) == ["t1", "t3"]
    columns = await books.rows("SELECT error FROM holdfast_tasks WHERE queue = $1 AND task_id = 't1'", books.queue)
    assert columns[0]["error"] == kind
