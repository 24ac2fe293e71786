"""The pages of all tasks repeat none and leave none out, though tasks end and are deleted between two reads."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.delivery import Settle
from holdfastd.a2a.rpc_errors import RpcError
from holdfastd.web.a2a.task_list import QueueOrder
from tests.lua.namespace import Namespace, namespace

pytestmark = pytest.mark.anyio

SIZE = 6
ALL = [*(f"waits-{n}" for n in reversed(range(3))), *(f"ended-{n}" for n in reversed(range(10)))]


@pytest.fixture
async def space(server_url: str) -> AsyncGenerator[Namespace]:
    async with namespace(server_url) as space:
        await space.register("w")
        for n in range(10):
            await end(space, f"ended-{n}")
        for n in range(3):
            await space.advance(1)
            await space.submit(f"waits-{n}")
        yield space


async def end(space: Namespace, task_id: str) -> None:
    await space.advance(1)
    lane = space.key("lane:other")
    await space.submit(task_id, lane=lane)
    [taken] = (await space.pull("w", 1, lanes=[lane])).deliveries
    await space.settle("w", taken, Settle.COMPLETED)


async def listed(space: Namespace, between: Callable[[], Awaitable[object]] | None = None) -> list[str]:
    """The ids on all pages; `between` happens after each read of a list."""
    manager = TaskManager(space.store, queue=space.queue)

    async def list_tasks(*states: Any, **wanted: Any) -> Any:
        page = await manager.list_tasks(*states, **wanted)
        if between:
            await between()
        return page

    access: Any = SimpleNamespace(store=space.store, manager=SimpleNamespace(list_tasks=list_tasks))
    ids, token = list[str](), ""
    while token or not ids:
        records, token = await QueueOrder(access, ()).page(SIZE, token)
        ids += [record.task_id for record in records]
    return ids


async def test_each_task_is_on_one_page(space: Namespace) -> None:
    assert await listed(space) == ALL


async def test_no_page_repeats_a_task_while_others_end(space: Namespace) -> None:
    numbers, one_by_one = count(), anyio.Lock()

    async def another_ends() -> None:
        async with one_by_one:
            await end(space, f"new-{next(numbers)}")

    found = await listed(space, another_ends)
    assert len(found) == len(set(found))
    assert [each for each in found if not each.startswith("new")] == ALL


@pytest.mark.parametrize("places", ['{"lane ": ""}', '{"lane": ""}', '{"other": ""}', "{}", "[]"])
async def test_a_token_that_is_none_is_refused(space: Namespace, places: str) -> None:
    token = urlsafe_b64encode(places.encode()).decode()
    with pytest.raises(RpcError, match="pageToken"):
        await QueueOrder(cast("Any", SimpleNamespace(store=space.store)), ()).page(SIZE, token)


@pytest.mark.parametrize("read", range(12))
async def test_no_page_leaves_out_a_task_while_others_are_deleted(space: Namespace, read: int) -> None:
    """One that stands on the first page, or would, after this read of a list."""
    numbers, deleted = count(), ["ended-8"]

    async def delete() -> None:
        if next(numbers) == read:
            await space.store.forget_tasks(deleted)

    found = [each for each in await listed(space, delete) if each not in deleted]
    assert found == [each for each in ALL if each not in deleted]
