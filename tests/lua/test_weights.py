"""The memory of a task in the server: a record of short fields is packed, and a million of them fit."""

from __future__ import annotations

from uuid import uuid4

import pytest

from holdfast.core.delivery import Holding, Settle
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def test_a_usual_record_is_packed_as_it_waits_runs_and_when_it_has_ended(server_url: str) -> None:
    async with namespace(server_url) as space:
        task_id, worker = str(uuid4()), uuid4().hex
        await space.register(worker)
        await space.store.submit([submission(task_id, space.queue, str(uuid4()))])
        assert await _packed(space, task_id)
        [delivery] = await space.take(worker)
        assert await _packed(space, task_id)
        await space.settle(worker, delivery, Settle.COMPLETED)
        assert await _packed(space, task_id)


async def test_an_ended_record_keeps_nothing_of_how_it_ran(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    first, second = await space.take("a")
    held = [Holding(one.task_id, one.claim, progress="half") for one in (first, second)]
    await space.store.renew("a", "live", 1, held)
    await space.settle("a", first, Settle.COMPLETED)
    await space.store.cancel("t2", "enough")
    fields = ("owner", "claim", "due", "progress")
    completed, canceled = [await space.do("HMGET", space.key(f"task:{name}"), *fields) for name in ("t1", "t2")]
    for *ran, progress in (completed, canceled):
        assert not any(ran)
        assert progress == b"half", "readers still see it"


async def test_a_webhook_that_a_running_task_gets_is_told_of_its_end(space: Namespace) -> None:
    """A record with a further field is not ended as a usual one."""
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.do("HSET", space.key("task:t1"), "webhook", "https://example.org/told")
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.do("ZCARD", space.key("webhooks")) == 1


async def test_a_record_that_waits_has_no_empty_fields(server_url: str) -> None:
    async with namespace(server_url) as space:
        await space.submit("t1")
        fields = await space.do("HGETALL", space.key("task:t1"))
        assert fields[b"state"] == b"submitted"
        assert b"" not in fields.values()


async def _packed(space: Namespace, task_id: str) -> bool:
    return await space.do("OBJECT", "ENCODING", space.key(f"task:{task_id}")) == b"listpack"
