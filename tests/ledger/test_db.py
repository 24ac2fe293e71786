"""`supervisor db`, and what a command or a start says of a PostgreSQL that is not as it must be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast import create_broker
from holdfast.errors import StoreRefusedError
from holdfast.exits import Exit
from holdfast.store import open_store
from holdfast.store.ledger import PostgresStore, migrate
from holdfast.store.ledger.database import Database
from holdfast_config import RedisSettings, load
from holdfast_config.store_settings import PostgresSettings
from tests.cli.commands import Cli
from tests.ledger.server import Server


@pytest.fixture
def empty(postgres_server: Server) -> Iterator[str]:
    """The URL of a database without our tables."""
    name = f"e{uuid4().hex[:12]}"
    postgres_server.statement(f"CREATE DATABASE {name}")
    yield postgres_server.url(name)
    postgres_server.statement(f"DROP DATABASE {name} WITH (FORCE)")


def command(folder: Path, redis: RedisSettings, url: str, **more: str) -> Cli:
    environ = {"STORAGE_TYPE": "postgres", "DATABASE_URL": url, "HOLDFAST_STATE_DIR": str(folder / "state"), **more}
    return Cli(folder, (), {**environ, "REDIS_URL": redis.url, "REDIS_QUEUE_NAME": redis.queue})


def test_an_empty_database_is_set_up_once(short_path: Path, redis_settings: RedisSettings, empty: str) -> None:
    cli = command(short_path, redis_settings, empty)
    before = cli("db", "status", "--json")
    assert (before.status, before.document["version"]) == (1, 0)
    assert cli("db", "upgrade").out == "0001 ledger\nversion 1\n"
    assert cli("db", "upgrade").out == "version 1, unchanged\n"
    after = cli("db", "status", "--json")
    assert (after.status, after.document["version"], after.document["ledger"]["phase"]) == (0, 1, "not begun")


def test_an_upgrade_shows_its_progress_on_a_terminal(
    short_path: Path, redis_settings: RedisSettings, empty: str
) -> None:
    shown = command(short_path, redis_settings, empty).on_terminal("db", "upgrade").out
    assert re.search("1 of 1 step done", shown)


def test_upgrades_at_the_same_time_do_it_once(short_path: Path, redis_settings: RedisSettings, empty: str) -> None:
    cli = command(short_path, redis_settings, empty)
    with ThreadPoolExecutor(4) as several:
        answers = list(several.map(lambda _: cli("db", "upgrade", "--json"), range(4)))
    assert [answer.status for answer in answers] == [0] * 4
    assert sorted(len(answer.document["steps"]) for answer in answers) == [0, 0, 0, len(migrate.migrations())]


def test_without_tables_nothing_begins_and_the_command_is_named(
    short_path: Path, redis_settings: RedisSettings, empty: str
) -> None:
    cli = command(short_path, redis_settings, empty, HOLDFAST_RUNTIME_DIR=str(short_path / "run"))
    (short_path / "agent.py").write_text("def handle(messages): return 1\n")
    for arguments in (("submit", "hello"), ("start", "--workers", "1")):
        answer = cli(*arguments)
        assert answer.status == Exit.CONFIG, answer
        assert "supervisor db upgrade" in answer.err
        assert "Traceback" not in answer.err


def test_tables_of_a_later_version_are_refused(
    short_path: Path, redis_settings: RedisSettings, postgres_server: Server, empty: str
) -> None:
    cli = command(short_path, redis_settings, empty)
    cli("db", "upgrade")
    name = empty.partition("@/")[2].partition("?")[0]
    postgres_server.statement("INSERT INTO holdfast_schema VALUES (999, 'later')", name)
    answer = cli("db", "status")
    assert answer.status == 1
    assert f"the tables have version 999; this version of Holdfast needs {migrate.newest()}" in answer.out


@pytest.mark.anyio
async def test_tables_of_an_earlier_version_are_refused_until_they_are_upgraded(empty: str) -> None:
    """And those of the later one are refused by the earlier."""
    later = migrate.Migration(migrate.newest() + 1, "colours", "ALTER TABLE holdfast_tasks ADD colour text")
    database = Database(PostgresSettings(empty))
    await migrate.upgrade(database)
    await migrate.check(database)
    with pytest.raises(
        StoreRefusedError, match=r"has tables of version 1, but this Holdfast needs version 2: run `supervisor db"
    ):
        await migrate.check(database, needed=later.version)
    assert await migrate.upgrade(database, known=(*migrate.migrations(), later)) == (later,)
    await migrate.check(database, needed=later.version)
    with pytest.raises(
        StoreRefusedError, match="has tables of version 2, but this Holdfast knows only 1: upgrade Holdfast"
    ):
        await migrate.check(database)
    await database.aclose()


@pytest.mark.anyio
async def test_an_upgrade_that_fails_in_a_step_has_done_none(empty: str) -> None:
    good = migrate.Migration(migrate.newest() + 1, "colours", "ALTER TABLE holdfast_tasks ADD colour text")
    bad = migrate.Migration(good.version + 1, "more", "ALTER TABLE holdfast_nothing ADD colour text")
    database = Database(PostgresSettings(empty))
    with pytest.raises(StoreRefusedError, match="holdfast_nothing"):
        await migrate.upgrade(database, known=(*migrate.migrations(), good, bad))
    assert await migrate.version(database) == 0
    await migrate.upgrade(database)
    await migrate.check(database)
    await database.aclose()


@pytest.mark.parametrize(
    ("url", "status", "text"),
    [
        (
            "postgresql://me:s3cret@127.0.0.1:1/x",
            Exit.UNAVAILABLE,
            "PostgreSQL at postgresql://me:***@127.0.0.1:1/x cannot",
        ),
        ("{server}/nowhere?host={folder}", Exit.CONFIG, 'database "nowhere" does not exist; create it'),
    ],
)
def test_a_server_that_is_away_and_a_database_that_is_not_there_are_told_apart(
    short_path: Path, redis_settings: RedisSettings, postgres_server: Server, url: str, status: int, text: str
) -> None:
    url = url.format(server="postgresql://holdfast@", folder=postgres_server.folder)
    answer = command(short_path, redis_settings, url)("submit", "hello")
    assert answer.status == status
    assert text in answer.err
    assert "s3cret" not in answer.err


@pytest.mark.parametrize("arguments", [("submit", "hello"), ("start", "--workers", "1"), ("db", "upgrade")])
def test_without_the_extra_the_package_is_named(
    short_path: Path, redis_settings: RedisSettings, arguments: tuple[str, ...]
) -> None:
    (short_path / "agent.py").write_text("def handle(messages): return 1\n")
    (short_path / "asyncpg.py").write_text("raise ImportError('as if it were not installed')\n")
    here = {"PYTHONPATH": str(short_path), "HOLDFAST_RUNTIME_DIR": str(short_path / "run")}
    answer = command(short_path, redis_settings, "postgresql://db/x", **here)(*arguments)
    assert answer.status == Exit.CONFIG, answer
    assert "pip install 'holdfast-supervisor[postgres]'" in answer.err
    assert "Traceback" not in answer.err


async def _submitted_by_broker(url: str, database: str) -> str:
    given = {"redis_url": url, "queue_name": "bindu:tasks", "storage_type": "postgres", "database_url": database}
    async with create_broker(load(given, environ={})) as broker:
        return await broker.manager.run_task("hello", task_id="by-broker")


@pytest.mark.anyio
async def test_a_process_that_starts_while_redis_is_away_submits_to_postgres(short_path: Path, database: str) -> None:
    away = RedisSettings(f"unix://{short_path}/nothing.sock", queue="bindu:tasks")
    cli = command(short_path, away, database)
    for arguments in (("hello",), ("--name", "greet"), ("--lines", "-")):
        answer = cli("submit", *arguments, stdin=b"one\ntwo\n")
        assert answer.status == Exit.OK, answer
    assert await _submitted_by_broker(away.url, database) == "by-broker"
    async with open_store(away, PostgresSettings(database)) as store:
        assert isinstance(store, PostgresStore)
        assert (await store.ledger()).waiting == 5
