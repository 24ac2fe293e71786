"""The store of a `Cli` that no worker serves, as a worker would use it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import uuid4

import anyio

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.cli.commands import Cli

T = TypeVar("T")


def with_store(cli: Cli, work: Callable[[RedisStore], Awaitable[T]]) -> T:
    """The result of `work` on the store that the commands of `cli` use."""
    _, url, _, queue = cli.options

    async def inside() -> T:
        store = RedisStore(RedisSettings(url, 4, queue))
        try:
            return await work(store)
        finally:
            await store.aclose()

    return anyio.run(inside)


def give_up(cli: Cli, *task_ids: str, name: str | None = None) -> None:
    """Submit these tasks and let each become a dead letter."""
    what = {"name": name} if name else {"text": "x"}
    lines = "\n".join(json.dumps({"task_id": task_id, **what}) for task_id in task_ids)
    assert cli("submit", "--jsonl", "-", stdin=lines.encode()).status == 0
    give_up_waiting(cli)


def give_up_waiting(cli: Cli) -> None:
    """All that waits becomes dead letters, and what cannot be read is set aside."""
    settle_waiting(cli, Settle.EXHAUSTED, "no good")


def settle_waiting(cli: Cli, kind: Settle, reason: str = "") -> None:
    """All that waits is claimed and settled so, and what cannot be read is set aside."""
    queue, incarnation = cli.options[3], uuid4().hex

    async def work(store: RedisStore) -> None:
        await store.register(Introduction(incarnation, "host", "boot", 1, 0))
        pulled = await store.pull(incarnation, 1, 1000, [queue], [])
        settlements = [Settlement(d.task_id, d.claim, kind, reason=reason) for d in pulled.deliveries]
        await store.pull(incarnation, 2, 0, [queue], settlements)
        await store.recover(incarnation, "left", False)

    with_store(cli, work)
