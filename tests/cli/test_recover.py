"""`supervisor recover`: tasks of owners that are gone, where no steward is."""

from __future__ import annotations

import pytest

from holdfast.store.redis import RedisStore
from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings
from tests.cli.commands import Cli
from tests.lua.operations import introduction, submission

pytestmark = pytest.mark.anyio


async def leave_behind(settings: RedisSettings, *, known: bool) -> None:
    """A task in the hands of somebody who is not there."""
    store = RedisStore(settings)
    await store.register(introduction("gone"))
    await store.submit([submission("t1", settings.queue)])
    assert (await store.pull("gone", 1, 1, [settings.queue], ())).deliveries
    if not known:
        keys = Keys(settings.queue)
        await store.connection.command("DEL", keys["worker"] + "gone", keys.running("gone"))
        await store.connection.command("ZREM", keys["workers"], "gone")
    await store.aclose()


async def test_a_dry_run_lists_and_changes_nothing(cli: Cli, redis_settings: RedisSettings) -> None:
    await leave_behind(redis_settings, known=False)
    for _ in range(2):
        done = cli("recover", "--dry-run")
        assert done.status == 0
        assert "its worker is unknown" in done.out
        assert done.out.endswith("1 task would be put back\n")


async def test_what_is_put_back_waits_again(cli: Cli, redis_settings: RedisSettings) -> None:
    await leave_behind(redis_settings, known=False)
    assert cli("recover", "--json").lines == [{"task_id": "t1", "owner": "gone", "why": "unknown", "put_back": True}]
    assert cli("tasks", "count", "--json").document["submitted"] == 1
    assert cli("recover").out == "0 tasks put back\n"
    assert "gone" in cli("why", "t1").out


async def test_an_owner_that_was_heard_of_keeps_its_tasks(cli: Cli, redis_settings: RedisSettings) -> None:
    await leave_behind(redis_settings, known=True)
    assert cli("recover").out == "0 tasks put back\n"
    assert cli("recover", "--silent-for", "0").out.endswith("1 task put back\n")
