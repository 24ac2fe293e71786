"""A round of work through a store, however it is reached: all kinds of calls, blocking ones and a subscription too."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

import anyio

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.task_states import State
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings, load
from tests.constellations import Group
from tests.lua.operations import introduction, submission

PATIENT = SubmitRetries(attempts=200, seconds=40.0, longest_wait=0.2)


def settings(url: str, queue: str = "", **more: float) -> RedisSettings:
    return RedisSettings(url, 4, queue or f"test:{uuid4().hex[:12]}", **more)


def with_files(url: str, group: Group) -> str:
    """The Redis settings for this URL, with the files of the group."""
    assert group.secured
    files = {
        "redis_ca_file": str(group.secured.authority),
        "redis_cert_file": str(group.secured.certificate),
        "redis_key_file": str(group.secured.key),
    }
    return load({"redis_url": url, **files}, environ={}).redis.url


@asynccontextmanager
async def opened(url: str, queue: str = "") -> AsyncGenerator[tuple[RedisStore, str]]:
    made = settings(url, queue)
    async with open_store(made) as store:
        yield store, made.queue


async def claim(store: RedisStore, queue: str, worker: str, task_id: str) -> Delivery:
    """A new task, submitted and pulled."""
    assert await store.submit([submission(task_id, queue)]) == [Accepted.NEW]
    (delivery,) = (await store.pull(worker, 1, 10, [queue], [])).deliveries
    return delivery


async def settle(store: RedisStore, queue: str, worker: str, delivery: Delivery, request: int = 2) -> str:
    done = Settlement(delivery.task_id, delivery.claim, Settle.COMPLETED, result=b'"done"')
    (verdict,) = (await store.pull(worker, request, 0, [queue], [done])).verdicts
    return verdict


async def round_of_work(url: str) -> None:
    """A task submitted, heard of, pulled, settled and told of; what a steward does beside it."""
    async with opened(url) as (store, queue):
        await store.preflight()
        await store.register(introduction("w"))
        async with anyio.create_task_group() as group:
            group.start_soon(_heard, store, queue)
            await _completed(store, queue)
        assert await store.renew("w", "live", 2, []) is not None
        assert await store.recover("w", "died", charged=False) == 0
        assert not await store.peek(queue, 0.05)
        facts = await store.examine([queue], 0.05)
        assert facts.unseen == ()
        assert facts.rights is not None
        assert facts.rights.forbidden == ()


async def _heard(store: RedisStore, queue: str) -> None:
    hint = await store.listen("w", [queue], 30.0)
    assert hint is not None
    assert hint.kind == "bell"


async def _completed(store: RedisStore, queue: str) -> None:
    notices = store.settled(["t"])
    assert await anext(notices) == ""
    delivery = await claim(store, queue, "w", "t")
    assert await settle(store, queue, "w", delivery) == "OK"
    assert await anext(notices) == "t"
    task = await store.get("t")
    assert task is not None
    assert task.state is State.COMPLETED
