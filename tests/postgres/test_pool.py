"""Whole pools whose tasks PostgreSQL keeps: Redis loses everything while they work, and nothing is lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from holdfast.broker.postgres import PostgresStore
from holdfast.core.records import Accepted, TaskRecord
from holdfast.core.states import State
from holdfast.manager import TaskManager
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings
from tests.faults.process import PATIENCE
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def kept(folder: Path, database: str, **options: object) -> AsyncGenerator[tuple[Scene, PostgresStore]]:
    """A pool and its producer's store."""
    async with stage(folder, storage_type="postgres", database_url=database, **options) as scene:  # type: ignore[arg-type]  # flags
        store = PostgresStore(RedisSettings(scene.url, 10, 1.0, QUEUE), PostgresSettings(database))
        try:
            yield scene, store
        finally:
            await store.aclose()


async def submit(store: PostgresStore, task_ids: Sequence[str], text: str) -> None:
    answers = await TaskManager(store, queue=QUEUE).submit([submission(each, text) for each in task_ids])
    assert set(answers) <= {Accepted.NEW}


async def ended(store: PostgresStore, task_ids: Sequence[str]) -> list[TaskRecord]:
    with anyio.fail_after(PATIENCE):
        return [record async for record in TaskManager(store, queue=QUEUE).wait_all(task_ids)]


async def results(store: PostgresStore) -> dict[str, int]:
    """How many turns of each task have an outcome in the ledger."""
    async with store.database.transaction() as sql:
        rows = await sql.fetch("SELECT task_id, count(result) AS n FROM holdfast_turns GROUP BY task_id")
    return {row["task_id"]: row["n"] for row in rows}


async def test_flushed_under_load_it_is_rebuilt_and_nothing_is_lost(short_path: Path, database: str) -> None:
    async with kept(short_path, database) as (scene, store):
        before, after = [f"a{n}" for n in range(200)], [f"b{n}" for n in range(50)]
        await submit(store, before, "sleep 0.01")
        scene.happened("settled", "a20")
        scene.client.flushall()
        await submit(store, after, "sleep 0.01")
        records = await ended(store, [*before, *after])
        assert {record.state for record in records} == {State.COMPLETED}
        scene.pool.until("REDIS HAS LOST DATA: it is rebuilt from PostgreSQL")
        facts = await store.ledger()
        assert facts.losses == 1
        assert facts.restored > 0
        assert scene.pool.deaths() == []
