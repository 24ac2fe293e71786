"""Webhooks that a steward takes from the outbox are its own for as long as it may take to tell them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from holdfast.core.webhook_notice import Notice
from holdfast_config import Settings
from holdfastd.steward.duties.webhooks import Webhooks

pytestmark = pytest.mark.anyio

TIMEOUT = 7.0  # seconds


class Outbox:
    """`waiting`: of tasks that are gone. It remembers for how long webhooks were taken, and what is done."""

    def __init__(self, *waiting: Notice) -> None:
        self.waiting = waiting
        self.leases_ms: list[int] = []
        self.done: list[tuple[str, int | None]] = []

    async def take_notices(self, _limit: int, lease_ms: int) -> tuple[list[Notice], int | None]:
        self.leases_ms.append(lease_ms)
        return list(self.waiting), None

    async def get(self, _: str) -> None: ...

    async def notice_done(self, name: str, _: str = "", at_ms: int | None = None) -> bool:
        self.done.append((name, at_ms))
        return True


async def test_a_webhook_is_taken_for_longer_than_a_try_may_take() -> None:
    outbox = Outbox()
    await Webhooks(cast("Any", outbox), Settings(webhook_timeout=TIMEOUT)).run_once()
    assert len(outbox.leases_ms) == 1
    assert outbox.leases_ms[0] > TIMEOUT * 1000


async def test_a_webhook_is_done_as_of_the_moment_that_it_told_of() -> None:
    outbox = Outbox(Notice("t|1|working", "t", 1, "working", "https://example.org", 77, 1))
    await Webhooks(cast("Any", outbox), Settings()).run_once()
    assert outbox.done == [("t|1|working", 77)]
