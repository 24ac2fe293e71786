"""Orders within milliseconds of each other: they are carried out in the order of their commits, and none is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from holdfast.client.schedules import Schedules
from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from holdfast.store.ledger import change_requests
from holdfast.store.ledger.tables import requests
from holdfast.store.redis.ledger import OVERTAKEN
from tests.ledger.ledger import Ledger, ledger
from tests.ledger.server import Server
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

PATIENCE = 30  # seconds; reached only by a test that fails
WAITING = "SELECT count(*) AS waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
async def other(books: Ledger, server_url: str, postgres_server: Server) -> AsyncIterator[Ledger]:
    """Another producer of the same queue."""
    async with ledger(server_url, postgres_server.url("tasks"), books.queue) as made:
        yield made


async def epoch_of(books: Ledger) -> str:
    [queue] = await books.rows("SELECT epoch FROM holdfast_queues WHERE queue = $1", books.queue)
    epoch: str = queue["epoch"]
    return epoch


async def events(books: Ledger) -> list[dict[bytes, bytes]]:
    return [fields for _, fields in await books.redis.plain.xrange(books.redis.key("events"))]


class Later:
    """A call that goes on beside the test."""

    def __init__(self, call: Callable[[], Awaitable[Any]]) -> None:
        self._call = call
        self.answer: Any = None
        self.over = anyio.Event()

    async def run(self) -> None:
        try:
            self.answer = await self._call()
        except Exception as error:
            self.answer = error
        self.over.set()

    async def held_up(self, books: Ledger) -> None:
        """Until it waits for the lock, or is over without it."""
        with anyio.fail_after(PATIENCE):
            while not self.over.is_set() and not (await books.rows(WAITING))[0]["waiting"]:
                await anyio.lowlevel.checkpoint()


async def test_of_two_orders_within_milliseconds_none_is_lost(books: Ledger, other: Ledger) -> None:
    await books.keep()
    tasks = [f"t{number}" for number in range(60)]
    await books.submit(*tasks)
    answers = dict[str, list[str]]()

    async def order(store: Ledger, task_id: str, verb: str) -> None:
        answers.setdefault(task_id, []).append(await getattr(store.store, verb)(task_id, "asked"))

    for task_id in tasks:
        async with anyio.create_task_group() as both:
            both.start_soon(order, books, task_id, "cancel")
            both.start_soon(order, other, task_id, "pause")
    assert {task_id: await books.state(task_id) for task_id in tasks} == dict.fromkeys(tasks, "canceled")
    await books.keep()
    assert await books.requests() == []


@pytest.mark.parametrize("dies", [False, True])
async def test_an_order_that_commits_late_is_no_lower_than_what_was_carried_out(
    books: Ledger, other: Ledger, dies: bool
) -> None:
    await books.keep()
    await books.submit("t1")
    pause = Later(lambda: other.store.pause("t1", "wait"))
    async with anyio.create_task_group() as beside:
        async with books.store.database.transaction() as sql:
            cancel = await requests.ask(sql, books.queue, "cancel", "t1", "enough")
            beside.start_soon(pause.run)
            await pause.held_up(books)
        if not dies:
            word = await books.store.redis_ledger.ask(await epoch_of(books), cancel.request, "cancel", "t1", "enough")
            assert word == "canceled"
            async with books.store.database.transaction() as sql:
                await requests.given(sql, [cancel.request])
    assert isinstance(pause.answer, Exception) if dies else pause.answer == "canceled"
    await books.wait_given()
    assert await books.state("t1") == "canceled"


async def test_a_change_that_commits_late_is_no_lower_than_what_was_carried_out(books: Ledger, other: Ledger) -> None:
    """Its setter has died: a steward carries it out, and the later one after it."""
    await books.keep()
    await Schedules(books.store, books.queue).upsert("j", every="1m", text="go")
    await books.keep()
    resume = Later(lambda: Schedules(other.store, books.queue).resume("j"))
    async with anyio.create_task_group() as beside, books.store.database.transaction() as sql:
        args = ("j", "the bank is closed", "")
        pause = await change_requests.enter(sql, books.queue, "schedule|j", "schedule_pause", args)
        beside.start_soon(resume.run)
        await resume.held_up(books)
    await books.wait_given()
    asked = [int(fields[b"detail"]) for fields in await events(books) if fields[b"event"] == b"requested"]
    assert pause.request in asked
    assert asked == sorted(asked)
    assert (await Schedules(books.store, books.queue).get("j")).paused == ""


@pytest.mark.parametrize("kept", [True, False], ids=["", "and-its-answer-is-forgotten"])
async def test_a_change_that_comes_late_is_carried_out_once(books: Ledger, other: Ledger, kept: bool) -> None:
    """A steward has carried it out in its producer's place, and a later change since."""
    await books.keep()
    schedules = Schedules(books.store, books.queue)
    await schedules.upsert("j", every="1m", text="go")
    async with books.store.database.transaction() as sql:
        args = ("j", "the bank is closed", "")
        pause = await change_requests.enter(sql, books.queue, "schedule|j", "schedule_pause", args)
    await books.wait_given()
    assert (await schedules.get("j")).paused == "the bank is closed"
    again = (await epoch_of(books), "schedule|j", pause.request, "schedule_pause", args)
    assert await other.store.redis_ledger.request(*again) == b"paused"
    asked = [int(fields[b"detail"]) for fields in await events(books) if fields[b"event"] == b"requested"]
    assert asked.count(pause.request) == 1
    await schedules.resume("j")
    if not kept:
        await books.redis.plain.delete(books.redis.key("answers"))
    assert await other.store.redis_ledger.request(*again) == (b"paused" if kept else OVERTAKEN)
    assert (await schedules.get("j")).paused == ""


async def test_a_message_that_another_is_ahead_of_follows_it_at_once(books: Ledger, other: Ledger) -> None:
    """Not when a steward comes by."""
    await books.keep()
    await books.submit("t1")
    await books.redis.register("a")
    [delivery] = await books.redis.take("a")
    second = Later(lambda: other.message("t1", "m2"))
    async with anyio.create_task_group() as beside:
        async with books.store.database.transaction() as sql:
            [entry] = await requests.enter(sql, books.queue, [submission("t1", books.queue, "m1")])
            beside.start_soon(second.run)
            await second.held_up(books)
        await books.store.redis_ledger.give(await epoch_of(books), [(entry.submission, False)])
        async with books.store.database.transaction() as sql:
            await requests.given(sql, [entry.request])
    assert second.answer is Accepted.PENDING
    for message in ("m1", "m2"):
        await books.redis.settle("a", delivery, Settle.COMPLETED)
        [delivery] = await books.redis.take("a")
        assert message.encode() in delivery.operation


async def test_large_batches_and_single_requests_do_not_wait_in_a_circle(books: Ledger, other: Ledger) -> None:
    await books.keep()
    tasks = [f"t{number}" for number in range(40)]
    async with anyio.create_task_group() as all_at_once:
        for number, store in enumerate([books, other] * 4):
            all_at_once.start_soon(store.submit, *(tasks if number % 4 < 2 else reversed(tasks[:30])))
            all_at_once.start_soon(store.submit, tasks[number])
    await books.wait_given()
    assert await books.states() == dict.fromkeys(tasks, "submitted")
