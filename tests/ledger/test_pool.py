"""Whole pools whose tasks PostgreSQL keeps: Redis loses everything while they work, and nothing is lost."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Accepted
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import LedgerUnavailableError
from holdfast.store.ledger import PostgresStore
from holdfast_config import RedisSettings
from holdfast_config.kill_spec import Point
from holdfast_config.store_settings import PostgresSettings
from tests.cli.commands import Cli
from tests.faults.process import PATIENCE
from tests.faults.scene import PATIENT, Scene, stage
from tests.faults.work import QUEUE, entry, submission
from tests.ledger.server import Server, postgres
from tests.ledger.tables import make

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def kept(folder: Path, database: str, **options: object) -> AsyncGenerator[tuple[Scene, PostgresStore]]:
    """A pool and its producer's store."""
    async with stage(folder, storage_type="postgres", database_url=database, **options) as scene:  # type: ignore[arg-type]  # flags
        store = PostgresStore(RedisSettings(scene.url, 10, QUEUE), PostgresSettings(database))
        try:
            await until_followed(store)
            yield scene, store
        finally:
            await store.aclose()


def supervisor(scene: Scene, database: str) -> Cli:
    """The command, as the operator of this pool has it."""
    kept_there = {"STORAGE_TYPE": "postgres", "DATABASE_URL": database, "REDIS_URL": scene.url}
    return Cli(
        scene.folder, (), {**kept_there, "REDIS_QUEUE_NAME": QUEUE, "HOLDFAST_RUNTIME_DIR": f"{scene.folder}/run"}
    )


async def submit(store: PostgresStore, task_ids: Sequence[str], text: str) -> None:
    answers = await TaskManager(store, queue=QUEUE).submit([submission(each, text) for each in task_ids])
    assert {answer.accepted for answer in answers} <= {Accepted.NEW, Accepted.DUPLICATE}  # asked again after an error


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
        await until_kept(store, {*before, *after})
        facts = await store.ledger()
        assert facts.losses == 1
        status = supervisor(scene, database)("status")
        assert status.status == 0, status
        assert "ledger following, " in status.out
        assert f"losses of Redis: 1, tasks put back: {facts.restored}" in status.out
        assert scene.pool.deaths() == []


async def test_flushed_under_load_schedules_go_on_with_their_count(short_path: Path, database: str) -> None:
    """Each fire has one task and one outcome, and there are as many as there should be; a pause stays."""
    async with kept(short_path, database) as (scene, store):
        manager = TaskManager(store, queue=QUEUE)
        names = [f"t{n}" for n in range(100)]
        await manager.schedules.upsert("j", every=0.2, limit=20, overlap="allow", misfire="all:100", text="quick")
        await manager.schedules.upsert("paused", every=0.2, overlap="allow", misfire="all:100", text="quick")
        await manager.schedules.pause("paused")
        await store.pause_lane("closed", "closed")
        await submit(store, names, "sleep 0.02")
        scene.happened("schedule-fired", "j", 5)
        scene.client.flushall()
        await ended(store, names)
        with anyio.fail_after(PATIENCE):
            while not (found := await PATIENT.call(store.schedule, "j")) or not found.ended:  # noqa: ASYNC110 - another process is waited for
                await anyio.sleep(0.05)
        await until_kept_all(store, len(names) + 20)
        assert found.fires == 20
        assert (await manager.schedules.get("paused")).paused
        assert [lane.is_paused for lane in (await store.lanes(["closed"])).lanes if lane.name == "closed"] == [True]
        assert (await store.ledger()).losses == 1
        assert scene.pool.deaths() == []


async def test_a_redis_that_was_replaced_is_rebuilt(short_path: Path, database: str) -> None:
    """It is killed, kept nothing, and another one takes its place: what ran, waited or was to run later is there."""
    async with kept(short_path, database) as (scene, store):
        names = [f"t{n}" for n in range(60)]
        await submit(store, names, "sleep 0.05")
        await store.submit([submission("later", "quick", delay_ms=3_600_000)])
        scene.happened("settled", "t10")
        scene.signal_server(signal.SIGKILL)
        scene.pool.until("the store does not answer; waiting")
        assert await store.submit([submission("meanwhile", "quick")]) == [Accepted.NEW]
        scene.serve_again()
        records = await ended(store, [*names, "meanwhile"])
        assert {record.state for record in records} == {State.COMPLETED}
        assert (await PATIENT.call(store.get, "later")).state is State.DELAYED
        assert scene.pool.deaths() == []


DEBUGGED = ("--enable-debug-command", "yes")


async def set_back_point(scene: Scene, store: PostgresStore, names: list[str]) -> dict[str, int]:
    """These have ended and are copied, and the server has on its disk the moment when most of them waited; how often
    each had run then."""
    await submit(store, names, "sleep 0.05")
    scene.client.save()
    runs = {name: scene.runs(name) for name in names}
    assert list(runs.values()).count(0) > len(names) / 2
    await ended(store, names)
    await until_kept(store, set(names))
    return runs


async def require_rebuilt(scene: Scene, store: PostgresStore, names: list[str], runs: dict[str, int]) -> None:
    """Redis is rebuilt. Tasks that had ended were not run again, and a new one runs."""
    scene.pool.until("REDIS HAS LOST DATA: it is rebuilt from PostgreSQL")
    await until_followed(store)
    await submit(store, ["after"], "quick")
    await ended(store, ["after"])
    assert {name: scene.runs(name) for name in names} == runs
    assert {(await scene.record(name)).state for name in names} == {State.COMPLETED}
    assert scene.pool.deaths() == []


async def test_set_back_over_live_connections_nothing_that_was_copied_runs_again(
    short_path: Path, database: str
) -> None:
    """The requests of the busy worker leap, and the other one waits with it."""
    async with kept(short_path, database, concurrency=1, server=DEBUGGED) as (scene, store):
        names = [f"t{n}" for n in range(40)]
        runs = await set_back_point(scene, store, names)
        scene.client.execute_command("DEBUG", "RELOAD", "NOSAVE")
        for n in range(20):
            scene.client.rpush(QUEUE, entry(f"foreign{n}", "quick"))
        await require_rebuilt(scene, store, names, runs)


async def test_after_a_restart_with_older_data_idle_workers_wait_for_the_steward(
    short_path: Path, database: str
) -> None:
    async with kept(short_path, database, concurrency=1) as (scene, store):
        names = [f"t{n}" for n in range(40)]
        runs = await set_back_point(scene, store, names)
        scene.rests(2)
        scene.signal_server(signal.SIGKILL)
        scene.pool.until("the store does not answer; waiting")
        scene.serve_again()
        await require_rebuilt(scene, store, names, runs)


async def test_a_steward_killed_while_it_rebuilds_is_followed_by_the_next(short_path: Path, database: str) -> None:
    async with kept(short_path, database, kill_at=[Point.RESTORED]) as (scene, store):
        names = [f"t{n}" for n in range(250)]
        await store.submit([submission("later", "quick", delay_ms=3_600_000)])  # however fast the others are
        await submit(store, names, "sleep 0.05")
        await until_known(store, {*names, "later"})
        scene.pool.order(Point.RESTORED)
        scene.client.flushall()
        scene.pool.until("died", slot="steward")
        records = await ended(store, names)
        assert {record.state for record in records} == {State.COMPLETED}
        assert (await PATIENT.call(store.get, "later")).state is State.DELAYED


async def test_while_postgres_is_away_workers_work_and_submits_are_refused(short_path: Path) -> None:
    with postgres() as server:
        server.statement("CREATE DATABASE tasks")
        make(server.url("tasks"))
        async with kept(short_path, server.url("tasks")) as (scene, store):
            names = [f"t{n}" for n in range(100)]
            await submit(store, names, "sleep 0.02")
            server.stop()
            impatient = TaskManager(store, queue=QUEUE, retries=SubmitRetries(attempts=2, seconds=0.5))
            with pytest.raises(LedgerUnavailableError, match=r"PostgreSQL at .* cannot"):
                await impatient.submit([submission("refused", "quick")])
            for name in names:
                scene.happened("settled", name)
            assert "PostgreSQL" in scene.pool.until_status(lambda status: "PostgreSQL" in status)
            server.start()
            await submit(store, ["after"], "quick")
            await ended(store, ["after"])
            await until_kept(store, {*names, "after"})
            assert scene.pool.deaths() == []


async def test_connections_that_are_terminated_again_and_again_cost_nothing(
    short_path: Path, database: str, postgres_server: Server
) -> None:
    async with kept(short_path, database) as (scene, store):
        names = [f"t{n}" for n in range(100)]
        for start in range(0, 100, 10):
            await submit(store, names[start : start + 10], "quick")
            postgres_server.statement(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'"
            )
        records = await ended(store, names)
        assert {record.deliveries for record in records} == {1}
        await until_kept(store, set(names))
        assert scene.pool.deaths() == []


async def until_followed(store: PostgresStore) -> None:
    """Until a steward keeps the queue: before that PostgreSQL alone takes what is submitted."""
    with anyio.fail_after(PATIENCE):
        while (await store.ledger()).phase != "following":  # noqa: ASYNC110 - another process is waited for
            await anyio.sleep(0.02)


async def until_known(store: PostgresStore, task_ids: set[str]) -> None:
    """Until the ledger has read each of these."""
    with anyio.fail_after(PATIENCE):
        while set(await results(store)) != task_ids:  # noqa: ASYNC110 - as above
            await anyio.sleep(0.05)


async def until_kept(store: PostgresStore, task_ids: set[str]) -> None:
    """Until the ledger has one outcome of each of these."""
    with anyio.fail_after(PATIENCE):
        while (found := await PATIENT.call(results, store)) != dict.fromkeys(task_ids, 1):
            assert set(found) <= task_ids
            await anyio.sleep(0.05)


async def until_kept_all(store: PostgresStore, tasks: int) -> None:
    """Until the ledger has one outcome of each of so many, and of no more."""
    with anyio.fail_after(PATIENCE):
        while list((found := await PATIENT.call(results, store)).values()) != [1] * tasks:
            assert len(found) <= tasks, sorted(found)
            await anyio.sleep(0.05)
