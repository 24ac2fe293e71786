"""`supervisor doctor` looks at a real PostgreSQL: reachable, tables, rights, and how the ledger stands to Redis."""

from __future__ import annotations

import time
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from holdfast.core.delivery import Settle
from holdfast.core.store_info import DatabaseInfo, ReplicationInfo
from holdfast.errors import LedgerUnavailableError, StoreRefusedError
from holdfast.store.ledger import PostgresStore
from holdfast.store.ledger.store import SURELY_READ_MS
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings
from holdfastd.doctor import postgres_server as check
from holdfastd.doctor.postgres_server import Answers
from tests.cli.commands import ROOT, Cli
from tests.ledger.ledger import Ledger
from tests.ledger.server import Server


def look(redis: RedisSettings, url: str) -> Answers:
    return check.look(redis, PostgresSettings(url, connect_timeout=2.0))


async def keep(redis: RedisSettings, url: str) -> None:
    store = PostgresStore(redis, PostgresSettings(url))
    try:
        while (await store.keep()).rebuilding:
            pass
    finally:
        await store.aclose()


def test_a_queue_that_is_kept(redis_settings: RedisSettings, database: str) -> None:
    anyio.run(keep, redis_settings, database)
    facts, following = look(redis_settings, database)
    assert isinstance(facts, DatabaseInfo)
    assert (facts.tables, facts.lacking, facts.standby) == (facts.needed, (), False)
    assert isinstance(following, ReplicationInfo)
    assert following.epoch == following.followed != ""
    assert following.ledger.phase == "following"


@pytest.mark.anyio
async def test_open_tasks_that_redis_has_lost_are_found_and_put_back(books: Ledger) -> None:
    await books.keep()
    await books.submit("a", "b", "c")
    await books.keep()
    assert await books.store.missing(500) == ()
    assert await books.redis.do("DEL", books.redis.key("task:b")) == 1
    assert await books.store.missing(500) == ("b",)
    assert await books.store.missing(1) == ()  # a sample: the oldest and the newest
    await books.store.disown()  # as `supervisor db adopt` does
    await books.keep()
    assert await books.store.missing(500) == ()
    assert await books.state("b") == "submitted"


@pytest.mark.anyio
async def test_a_removed_task_whose_end_the_ledger_has_not_read_is_not_missing(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t1")
    await books.keep()
    [delivery] = await books.redis.take("a", 1)
    await books.redis.settle("a", delivery, Settle.COMPLETED)
    await books.redis.store.forget_tasks(["t1"])
    events_ms = time.time_ns() // 1_000_000  # events have the server's clock, and not the one of this test
    await books.redis.advance(events_ms + SURELY_READ_MS - books.redis.clock.now_ms)
    assert await books.store.missing(500) is None  # the ledger is too far behind to tell
    async with anyio.create_task_group() as looking:
        looking.start_soon(books.keep)
        assert await books.store.missing(500) == ()


def test_a_user_without_rights_is_told_which(
    redis_settings: RedisSettings, database: str, postgres_server: Server
) -> None:
    name, user = database.split("/")[3].split("?")[0], f"u{uuid4().hex[:8]}"
    postgres_server.statement(f"CREATE USER {user}; GRANT SELECT ON holdfast_schema, holdfast_tasks TO {user}", name)
    facts, following = look(redis_settings, database.replace("holdfast@", f"{user}@"))
    postgres_server.statement(f"DROP OWNED BY {user}; DROP USER {user}", name)
    assert isinstance(facts, DatabaseInfo)
    assert facts.user == user
    assert {"UPDATE on holdfast_tasks", "SELECT on holdfast_facts"} <= set(facts.lacking)
    assert "SELECT on holdfast_tasks" not in facts.lacking
    assert following is None


def test_one_that_is_away_or_not_there(redis_settings: RedisSettings, database: str, tmp_path: Path) -> None:
    assert isinstance(look(redis_settings, f"postgresql:///tasks?host={tmp_path}")[0], LedgerUnavailableError)
    name = database.split("/")[3].split("?")[0]
    assert isinstance(look(redis_settings, database.replace(name, "nowhere"))[0], StoreRefusedError)


def test_the_doctor_tells_it(short_path: Path, redis_settings: RedisSettings, database: str) -> None:
    kept = {"STORAGE_TYPE": "postgres", "DATABASE_URL": database.replace("postgresql:", "postgresql+asyncpg:")}
    places = ("--runtime-dir", str(short_path / "run"), "--state-dir", str(short_path / "state"))
    doctor = Cli(short_path, ("--json", "--app-dir", str(ROOT), *places), kept)
    answer = doctor("doctor", "examples.agent:handle", "--redis-url", redis_settings.url)
    levels = {finding["look"]: finding["level"] for finding in answer.document if finding["subject"] == "postgresql"}
    assert levels == {"connection": "ok", "tables": "ok", "rights": "ok", "this Redis": "note", "ledger": "ok"}
