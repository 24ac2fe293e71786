"""Webhooks that a steward takes from the outbox are its own for as long as it may take to tell them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from holdfast_config import Settings
from holdfastd.steward.duties.webhooks import Webhooks

pytestmark = pytest.mark.anyio

TIMEOUT = 7.0  # seconds


class Outbox:
    """Nothing waits in it; it remembers for how long webhooks would have been taken."""

    def __init__(self) -> None:
        self.leases_ms: list[int] = []

    async def take_notices(self, _limit: int, lease_ms: int) -> tuple[list[Any], int | None]:
        self.leases_ms.append(lease_ms)
        return [], None


async def test_a_webhook_is_taken_for_longer_than_a_try_may_take() -> None:
    outbox = Outbox()
    await Webhooks(cast("Any", outbox), Settings(webhook_timeout=TIMEOUT)).run_once()
    assert len(outbox.leases_ms) == 1
    assert outbox.leases_ms[0] > TIMEOUT * 1000
