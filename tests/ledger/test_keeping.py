"""How the ledger follows Redis: exactly what has happened, by any steward, however far behind."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import httpx
import pytest
from pydantic import SecretStr

from holdfast.client.manager import TaskManager
from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast.errors import StoreRefusedError
from holdfast.store.ledger import PostgresStore
from holdfast.store.ledger.replicate import Replication
from holdfast.why.gather import explain
from holdfast.why.times import moment
from holdfast_config import RedisSettings, Settings
from holdfast_config.store_settings import PostgresSettings
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.application import application
from holdfastd.web.queue.queue_access import QueueAccess
from tests.ledger.ledger import Ledger, ledger
from tests.ledger.server import Server
from tests.lua.clock import CLOCK
from tests.lua.operations import control, run, submission

pytestmark = pytest.mark.anyio


async def complete(books: Ledger, *task_ids: str) -> None:
    for task_id in task_ids:
        [delivery] = await books.redis.take("a", 1)
        assert delivery.task_id == task_id
        assert await books.redis.settle("a", delivery, Settle.COMPLETED, result=b'"out"') == "OK"


async def test_what_happens_is_copied_and_confirmed(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1", "t2")
    await complete(books, "t1")
    assert [row["task_id"] for row in await books.requests()] == ["t1", "t2"]
    await books.keep()
    assert await books.states() == {"t1": "completed", "t2": "submitted"}
    assert await books.requests() == []
    facts = await books.store.ledger()
    assert (facts.phase, facts.behind_ms, facts.waiting, facts.losses) == ("following", 0, 0, 0)


async def test_what_foreign_producers_push_is_kept_once_it_is_read(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.redis.push(run("foreign"), control("cancel", "t1"))
    await books.submit("t1")
    await books.redis.take("a")
    await books.keep()
    assert await books.states() == {"foreign": "working", "t1": "canceled"}


async def test_a_lane_that_is_no_list_holds_up_no_request(books: Ledger) -> None:
    await books.keep()
    await books.flush()  # so what is submitted now waits
    taken = f"{books.queue}:taken"
    await books.store.submit([submission("t1", taken), submission("t2", books.queue)])
    await books.redis.do("SET", taken, "1")
    await books.wait_given()
    assert await books.states() == {"t1": "rejected", "t2": "submitted"}
    assert await books.store.submit([submission("t3", taken)]) == [Accepted.NO_LIST]
    assert await books.requests() == []


async def test_what_was_there_before_the_ledger_is_kept_too(books: Ledger) -> None:
    await books.redis.submit("old1", "old2")
    await books.redis.register("a")
    await complete(books, "old1")
    await books.keep()
    assert await books.states() == {"old1": "completed", "old2": "submitted"}


async def test_events_that_were_trimmed_unread_cost_a_sweep_and_nothing_else(books: Ledger) -> None:
    await books.keep()
    await books.submit("t1", "t2")
    await books.keep()
    await books.redis.register("a")
    await complete(books, "t1")
    await books.redis.submit("unseen")
    await books.redis.do("XTRIM", books.redis.key("events"), "MAXLEN", 1)
    await books.keep()
    assert await books.states() == {"t1": "completed", "t2": "submitted", "unseen": "submitted"}
    assert (await books.store.ledger()).losses == 0
    await books.redis.check()


async def test_several_stewards_at_once_keep_it_as_one(books: Ledger, server_url: str, postgres_server: Server) -> None:
    settings = RedisSettings(server_url, 4, books.queue), PostgresSettings(postgres_server.url("tasks"))
    stores = [books.store, *(PostgresStore(*settings) for _ in range(3))]
    names = [f"t{n:03}" for n in range(150)]
    await books.keep()

    async def steward(store: PostgresStore, stop: anyio.Event) -> None:
        while not stop.is_set():
            await store.keep()
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        stop = anyio.Event()
        for store in stores:
            group.start_soon(steward, store, stop)
        await books.redis.register("a")
        for start in range(0, len(names), 30):
            await books.submit(*names[start : start + 30])
            await complete(books, *names[start : start + 30])
        stop.set()
    await books.keep()
    assert await books.states() == dict.fromkeys(names, "completed")
    assert await books.requests() == []
    for store in stores[1:]:
        await store.aclose()


async def test_who_comes_while_another_steward_is_at_it_leaves_it_alone(books: Ledger) -> None:
    await books.keep()
    async with books.store.database.transaction() as sql:
        await sql.execute("SELECT 1 FROM holdfast_queues WHERE queue = $1 FOR UPDATE", books.queue)
        assert (await books.store.keep()).busy
    assert not (await books.store.keep()).busy


async def test_redis_forgets_nothing_that_the_ledger_has_not_read(
    books: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = books.redis.clock

    async def nothing(_: Replication) -> None:
        """The steward cannot reach PostgreSQL just then."""

    async def in_real_time(ahead_ms: int) -> None:
        """Times that are compared with positions of events must be of the same moment."""
        await clock.advance(round(time.time() * 1000) + ahead_ms - clock.now_ms)

    await books.keep()
    await books.redis.register("a")
    await in_real_time(-100)
    await books.submit("read", "unread")
    await complete(books, "read")
    await books.keep()
    await in_real_time(+100)
    await complete(books, "unread")
    monkeypatch.setattr(Replication, "round", nothing)
    await clock.advance(100_000)
    assert await books.store.trim(0, 10) == 1
    assert await books.redis.store.get("read") is None
    monkeypatch.undo()
    assert await books.store.trim(0, 10) == 1
    assert await books.states() == {"read": "completed", "unread": "completed"}
    assert await books.redis.store.get("unread") is None
    assert (await books.store.task_ids("re", "", 100)).ids == ("read",)  # as PostgreSQL keeps tasks longer


async def test_the_outcome_of_a_turn_is_written_once(books: Ledger) -> None:
    """A Redis that lost it and had it made anew changes nothing about it."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1")
    await complete(books, "t1")
    await books.keep()
    await books.redis.do("SET", books.redis.key("result:t1:1"), '"another"')
    await books.redis.do("HSET", books.redis.key("task:t1"), "state", "submitted", "finished", "")
    await books.redis.do("XADD", books.redis.key("events"), "*", "event", "asked", "id", "t1", "detail", "")
    await books.keep()
    assert await books.states() == {"t1": "completed"}
    rows = await books.rows("SELECT result FROM holdfast_turns WHERE queue = $1", books.queue)
    assert [row["result"] for row in rows] == [b'"out"']


async def test_what_redis_has_forgotten_is_still_told(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1", "t2", "t3")
    await complete(books, "t1", "t2")
    await books.keep()
    await books.redis.clock.advance(1000)
    assert await books.store.trim(0, 10) == 2
    record = await books.store.get("t1")
    assert record is not None
    assert (record.state, record.result) == (State.COMPLETED, b'"out"')
    page = await books.store.tasks(Wanted(), 2)
    rest = await books.store.tasks(Wanted(), 2, page.cursor)
    assert sorted(task.task_id for task in (*page.tasks, *rest.tasks)) == ["t1", "t2", "t3"]
    assert rest.cursor == ""
    assert (await books.store.tasks(Wanted((State.FAILED,)), 10)).tasks == ()
    assert await books.store.cancel("t1", "too late") == "completed"
    assert (await books.message("t1", "m2")) is Accepted.TERMINAL
    assert await books.requests() == []


AWAY = "postgresql://nobody@127.0.0.1:1/none"


def settings_of(books: Ledger, redis_url: str, database_url: str) -> Settings:
    return Settings(
        redis_url=redis_url, queue_name=books.queue, storage_type="postgres", database_url=SecretStr(database_url)
    )


@asynccontextmanager
async def without_database(books: Ledger, redis_url: str) -> AsyncGenerator[PostgresStore]:
    """A store of this queue that does not reach its database."""
    store = PostgresStore(RedisSettings(redis_url, 4, books.queue), PostgresSettings(AWAY), {"clock": CLOCK})
    try:
        yield store
    finally:
        await store.aclose()


@asynccontextmanager
async def api(store: PostgresStore, queue: str, settings: Settings) -> AsyncGenerator[httpx.AsyncClient]:
    token = "a-token-of-sixteen-or-more"
    app = application(QueueAccess(store, TaskManager(store, queue=queue), settings), Accounts(token), AllowedHosts())
    login = {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=login) as client:
        yield client


async def test_a_change_of_many_tasks_counts_those_that_only_the_ledger_remembers(
    books: Ledger, server_url: str, postgres_server: Server
) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1", "t2")
    await complete(books, "t1", "t2")
    await books.keep()
    await books.redis.clock.advance(1000)
    assert await books.store.trim(0, 10) == 2
    settings = settings_of(books, server_url, postgres_server.url("tasks"))
    async with api(books.store, books.queue, settings) as client:
        count = (await client.get("/api/v1/bulk/remove/count", params={"state": "completed"})).json()
    assert count["found"] == 2


async def test_the_problems_of_now_name_a_database_that_is_away(books: Ledger, server_url: str) -> None:
    await books.keep()
    settings = settings_of(books, server_url, AWAY)
    async with without_database(books, server_url) as store, api(store, books.queue, settings) as client:
        shown = (await client.get("/api/v1/doctor")).text
    assert "PostgreSQL at postgresql://***@127.0.0.1:1/none cannot be reached" in shown


async def test_why_says_how_long_the_database_keeps_a_task(
    books: Ledger, server_url: str, postgres_server: Server
) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1")
    await complete(books, "t1")
    await books.keep()
    settings = settings_of(books, server_url, postgres_server.url("tasks"))
    record = await books.store.get("t1")
    assert record is not None
    assert record.finished_ms is not None
    until = moment(record.finished_ms + round(settings.database_keep * 1000))
    assert f"kept until {until}" in (await explain(books.store, books.queue, "t1", settings))["now"]


async def test_the_steps_of_a_task_that_redis_has_need_no_database(books: Ledger, server_url: str) -> None:
    await books.keep()
    await books.submit("t1")
    async with without_database(books, server_url) as store:
        assert await store.step_names("t1") == ((), None)


async def test_a_task_that_only_the_ledger_remembers_can_be_retried(books: Ledger) -> None:
    await books.keep()
    await books.submit("t1")
    await books.store.cancel("t1", "not now")
    await books.keep()
    await books.redis.clock.advance(1000)
    assert await books.store.trim(0, 10) == 1
    answer = await books.store.retry("t1", "now")
    assert (answer.word, answer.task_id) == ("new", "t1.r1")
    await books.redis.check()


async def test_what_ended_long_ago_is_forgotten_at_last(
    books: Ledger, server_url: str, postgres_server: Server
) -> None:
    await books.keep()
    await books.submit("t1", "t2")
    await books.store.cancel("t1", "enough")
    await books.keep()
    database = PostgresSettings(postgres_server.url("tasks"), keep=0.0)
    brief = PostgresStore(RedisSettings(server_url, 4, books.queue), database)
    await brief.trim(0, 10)
    await brief.trim(0, 10)
    await brief.aclose()
    assert await books.states() == {"t2": "submitted"}


async def test_the_queue_of_another_database_is_refused_until_it_is_adopted(
    books: Ledger, server_url: str, database: str
) -> None:
    await books.keep()
    await books.submit("t1")
    await books.keep()
    async with ledger(server_url, database, books.queue) as other:
        for refused in (other.store.preflight, other.store.keep):
            with pytest.raises(StoreRefusedError, match=r"kept by another database .* `supervisor db adopt`"):
                await refused()
        await other.store.disown()
        await other.keep()
        assert await other.states() == {"t1": "submitted"}
        with pytest.raises(StoreRefusedError):
            await books.store.keep()
