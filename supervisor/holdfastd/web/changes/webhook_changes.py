"""Changes of webhooks that wait: try one now, give one up."""

from __future__ import annotations

from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.queue import waiting_webhooks


async def _try_now(asked: Asked) -> None:
    await waiting_webhooks.try_now(asked.access.store, asked.subject)


async def _give_up(asked: Asked) -> None:
    await waiting_webhooks.give_up(asked.access.store, asked.subject, asked.reason("given up"))


WEBHOOK_CHANGES = (
    PageChange("/webhooks/retry", "webhook", "/webhooks", _try_now),
    PageChange("/webhooks/remove", "webhook", "/webhooks", _give_up),
)
