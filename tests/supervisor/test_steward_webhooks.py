"""Webhooks that a steward takes from the outbox are its own for as long as it may take to tell them."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest

from holdfast.core.webhook_notice import Notice
from holdfast_config import Settings
from holdfastd.steward.duties.webhooks import AT_ONCE, Webhooks

pytestmark = pytest.mark.anyio

TIMEOUT = 7.0  # seconds


class Outbox:
    """`waiting`: of tasks that are gone. It remembers for how long webhooks were taken, and what is done."""

    def __init__(self, *waiting: Notice) -> None:
        self.waiting = list(waiting)
        self.come, self.goes_on, self.was_done = anyio.Event(), anyio.Event(), anyio.Event()
        self.leases_ms: list[int] = []
        self.done: list[tuple[str, int | None]] = []

    async def take_notices(self, limit: int, lease_ms: int) -> tuple[list[Notice], int | None]:
        self.leases_ms.append(lease_ms)
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken, None

    async def wait_notices(self, _: float) -> bool:
        await self.come.wait()
        self.come = anyio.Event()
        return True

    async def get(self, task_id: str) -> None:
        if task_id == "slow":
            await self.goes_on.wait()

    async def notice_done(self, name: str, _: str = "", at_ms: int | None = None) -> bool:
        self.done.append((name, at_ms))
        self.was_done.set()
        return True


async def test_a_webhook_is_taken_for_longer_than_a_try_may_take() -> None:
    outbox = Outbox()
    await Webhooks(cast("Any", outbox), Settings(webhook_timeout=TIMEOUT)).run_once()
    assert len(outbox.leases_ms) == 1
    assert outbox.leases_ms[0] > TIMEOUT * 1000


async def test_a_webhook_is_done_as_of_the_moment_that_it_told_of() -> None:
    outbox = Outbox(notice("t", 77))
    await Webhooks(cast("Any", outbox), Settings()).run_once()
    assert outbox.done == [("t|1|working", 77)]


async def test_a_receiver_that_answers_slowly_keeps_no_other_waiting() -> None:
    outbox = Outbox(notice("slow"))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(Webhooks(cast("Any", outbox), Settings()).run_once)
            await anyio.wait_all_tasks_blocked()
            outbox.waiting.append(notice("fast"))
            outbox.come.set()
            await outbox.was_done.wait()
            assert outbox.done == [("fast|1|working", 1)]
            outbox.goes_on.set()
    assert [name for name, _ in outbox.done] == ["fast|1|working", "slow|1|working"]


async def test_so_many_are_posted_at_once_and_no_more() -> None:
    outbox = Outbox(*(notice("slow") for _ in range(AT_ONCE + 3)))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(Webhooks(cast("Any", outbox), Settings()).run_once)
            await anyio.wait_all_tasks_blocked()
            assert len(outbox.waiting) == 3
            outbox.goes_on.set()
    assert (len(outbox.done), outbox.waiting) == (AT_ONCE + 3, [])


def notice(task_id: str, at_ms: int = 1) -> Notice:
    return Notice(f"{task_id}|1|working", task_id, 1, "working", "https://example.org", at_ms, 1)
