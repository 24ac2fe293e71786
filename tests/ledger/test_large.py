"""Tasks of many bytes: what is asked of Redis, and what it answers, goes in pages that small buffers can take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from holdfast.core.delivery import Settle
from tests.ledger.ledger import Ledger, ledger
from tests.ledger.server import Server
from tests.lua.operations import submission
from tests.servers import valkey

pytestmark = pytest.mark.anyio

MEGABYTE = 1_000_000
# A client that sends or is sent more than that at once is thrown out.
SMALL = ("--client-query-buffer-limit", "8mb", "--client-output-buffer-limit", "normal 8mb 0 0")
NUMBER = 20


@pytest.fixture
def small_server(short_path: Path) -> Iterator[str]:
    with valkey(short_path, *SMALL) as url:
        yield url


@pytest.fixture
async def books(small_server: str, postgres_server: Server, anyio_backend: object) -> AsyncIterator[Ledger]:
    async with ledger(small_server, postgres_server.url("tasks")) as made:
        yield made


def names(kind: str) -> list[str]:
    return [f"{kind}{number}" for number in range(NUMBER)]


async def test_conversations_waiting_tasks_and_ended_parents_come_back_page_by_page(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    for task_id in [*names("t"), *names("p")]:
        assert await books.store.submit([submission(task_id, books.queue, text="x" * MEGABYTE)]) == ["new"]
        [delivery] = await books.redis.take("a")
        kind = Settle.COMPLETED if task_id in names("p") else Settle.INPUT_REQUIRED
        await books.redis.settle("a", delivery, kind, result=b'"out"')
    await books.keep()
    await books.flush()
    for task_id in names("w"):  # these wait for a Redis that can take them
        await books.store.submit([submission(task_id, books.queue, text="x" * MEGABYTE)])
    await books.wait_given()
    expected = dict.fromkeys(names("t"), "input-required") | dict.fromkeys(names("p"), "completed")
    assert await books.states() == expected | dict.fromkeys(names("w"), "submitted")
    for task_id in [*names("t"), *names("w")]:
        assert len((await books.redis.task(task_id)).operation or b"") > MEGABYTE


async def test_a_task_with_more_messages_than_a_script_can_unpack_is_put_back(books: Ledger) -> None:
    """Somebody has made a task of its id anew: all that waited become messages for that one."""
    await books.keep()
    await books.submit("t1")
    many = 9_000
    await books.redis.do("RPUSH", books.redis.key("pending:t1"), *(f"m{n}|od{n}|{{}}" for n in range(many)))
    await books.redis.store.pause("t1", "wait")
    await books.keep()
    await books.flush()
    await books.redis.submit("t1", text="another")
    await books.wait_given()
    assert await books.redis.do("LLEN", books.redis.key("pending:t1")) >= many
