"""Checks PostgreSQL as the ledger of the tasks: its tables, the user's rights, and how far it is behind Redis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from holdfast.core.counts import RebuildPhase
from holdfast.core.store_info import DatabaseInfo, ReplicationInfo
from holdfast.core.words import counted, some
from holdfast.errors import StoreError, StoreRefusedError
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.store_checks import bounded

if TYPE_CHECKING:
    from holdfast.store.ledger import PostgresStore

LOOK_TIMEOUT = 8.0  # seconds for PostgreSQL, and as many for Redis
LAG_MS = 10_000  # a ledger this far behind is reported; about 50 ms is normal
SHOWN = 5
SAMPLE = 500  # so many of the oldest open tasks, and so many of the newest, are looked for in Redis

Answers = tuple[DatabaseInfo | StoreError, ReplicationInfo | StoreError | None]

_CONNECTION = Check("postgresql", "connection")
_TABLES = Check("postgresql", "tables")
_RIGHTS = Check("postgresql", "rights")
_OWNER = Check("postgresql", "this Redis")
_LEDGER = Check("postgresql", "ledger")
_TASKS = Check("postgresql", "tasks in Redis")


def look(redis: RedisSettings, database: PostgresSettings) -> Answers:
    """The state of PostgreSQL. If its tables are usable, also the comparison of the ledger with Redis."""
    return anyio.run(_examine, redis, database, backend_options={"use_uvloop": True})


async def _examine(redis: RedisSettings, database: PostgresSettings) -> Answers:
    try:
        from holdfast.store.ledger import PostgresStore  # its driver is an extra

        store = PostgresStore(redis, database)
    except StoreError as error:
        return error, None
    try:
        info = await look_through(store, database, LOOK_TIMEOUT)
        usable = isinstance(info, DatabaseInfo) and info.tables == info.needed and not info.lacking
        return info, await bounded(_compare(store), redis.masked_url, LOOK_TIMEOUT) if usable else None
    finally:
        await store.aclose()


async def _compare(store: PostgresStore) -> ReplicationInfo:
    """The comparison of the ledger with Redis. Tasks are compared only while the ledger follows this Redis."""
    info = await store.following()
    follows = info.epoch and info.followed == info.epoch and info.ledger.phase is RebuildPhase.FOLLOWING
    return replace(info, missing=await store.missing(SAMPLE)) if follows else info


async def look_through(store: Any, database: PostgresSettings, seconds: float) -> DatabaseInfo | StoreError:
    """The state of PostgreSQL, read over the connections of an open store."""
    from holdfast.store.ledger.migrate import examine  # its driver is an extra

    return await bounded(examine(store.database), database.masked_url, seconds)


def judge(info: DatabaseInfo | StoreError) -> Iterator[Finding]:
    if isinstance(info, StoreError):
        yield _judge_error(info)
        return
    if info.standby:
        yield _CONNECTION.problem(f"{info.url} is a standby: it accepts no writes", "name the primary in DATABASE_URL")
    else:
        yield _CONNECTION.ok(f"{info.url}, PostgreSQL {info.server}")
    yield _judge_tables(info)
    if info.tables:
        yield _judge_rights(info)


def _judge_error(error: StoreError) -> Finding:
    refused = isinstance(error, StoreRefusedError)
    usual = "that PostgreSQL runs and DATABASE_URL is right"
    check = "user, password and database of DATABASE_URL" if refused else usual
    return _CONNECTION.problem(str(error), f"check {check}: psql DATABASE_URL -c 'SELECT 1'")


def _judge_tables(info: DatabaseInfo) -> Finding:
    text = f"version {info.tables}; this version of Holdfast needs {info.needed}"
    if not info.tables:
        return _TABLES.problem("the tables do not exist", "supervisor db upgrade")
    if info.tables < info.needed:
        return _TABLES.problem(text, "supervisor db upgrade")
    if info.tables > info.needed:
        return _TABLES.problem(text, "upgrade Holdfast on this host")
    return _TABLES.ok(f"version {info.tables}")


def _judge_rights(info: DatabaseInfo) -> Finding:
    if not info.lacking:
        return _RIGHTS.ok(f"user {info.user} may read and write every table")
    text = f"user {info.user} lacks {some(info.lacking, SHOWN)}"
    tables = ", ".join(sorted({right.rpartition(" ")[2] for right in info.lacking}))
    return _RIGHTS.problem(text, f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {info.user}")


def judge_replication(info: ReplicationInfo | StoreError) -> Iterator[Finding]:
    if isinstance(info, StoreError):
        yield _LEDGER.note(f"cannot be compared with Redis: {info}")
        return
    yield _judge_owner(info)
    yield _judge_ledger(info)
    if info.missing is not None:
        yield _judge_tasks(info.missing)


def _judge_owner(info: ReplicationInfo) -> Finding:
    ledger, following = info.ledger, info.ledger.phase is RebuildPhase.FOLLOWING
    if not info.epoch:
        return _OWNER.note(
            "this database does not hold the queue yet: the first steward begins to copy it", "supervisor start"
        )
    if info.followed and info.followed != info.epoch and following:
        fix = "check DATABASE_URL; if this database is to take over: supervisor db adopt"
        return _OWNER.problem("another database is the ledger of this queue", fix)
    if not info.followed and following:
        text = "Redis does not know this ledger: Redis lost its data, or is another one; a steward will rebuild it"
        return _OWNER.warning(text, "supervisor start; supervisor status shows the progress")
    losses = (
        f"; Redis has lost data {counted(ledger.losses, 'time')}, {counted(ledger.restored, 'task')} put back"
        if ledger.losses
        else ""
    )
    return _OWNER.ok(f"epoch {info.epoch[:8]}{losses}")


def _judge_tasks(missing: Sequence[str]) -> Finding:
    if not missing:
        return _TASKS.ok(f"Redis has every open task of the ledger, of at most {2 * SAMPLE} that were looked for")
    kinds = ("open task of the ledger is", "open tasks of the ledger are")
    text = f"{counted(len(missing), *kinds)} not in Redis, which has lost a part of its data: {some(missing, SHOWN)}"
    return _TASKS.problem(text, "supervisor db adopt: the steward then puts back what Redis has lost")


def _judge_ledger(info: ReplicationInfo) -> Finding:
    ledger = info.ledger
    lag = f"{ledger.behind_ms / 1000:.1f} s behind Redis"
    waiting = f", {counted(ledger.waiting, 'request waits', 'requests wait')} for Redis" if ledger.waiting else ""
    if ledger.phase not in {RebuildPhase.FOLLOWING, RebuildPhase.NOT_BEGUN}:
        return _LEDGER.warning(
            f"Redis is being rebuilt from the ledger ({ledger.phase}){waiting}",
            "wait until supervisor status says `following`",
        )
    if ledger.behind_ms > LAG_MS:
        return _LEDGER.warning(
            f"{lag}{waiting}", "check that a steward runs (supervisor status) and that PostgreSQL is fast enough"
        )
    if ledger.waiting:
        return _LEDGER.note(
            f"{lag if ledger.behind_ms else 'up to date'}{waiting}",
            "a steward passes the requests on to Redis; check that one runs: supervisor status",
        )
    return _LEDGER.ok(lag if ledger.behind_ms else "up to date")
