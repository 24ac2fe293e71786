"""Changes of webhooks that wait: try one now, give one up."""

from __future__ import annotations

from holdfastd.web.access.forms import BadFieldError
from holdfastd.web.changes.change import Asked, PageChange


async def _try_now(asked: Asked) -> None:
    if not await asked.access.store.notice_now(asked.subject):
        raise _gone(asked)


async def _give_up(asked: Asked) -> None:
    if not await asked.access.store.notice_done(asked.subject, asked.reason("given up")[:500]):
        raise _gone(asked)


def _gone(asked: Asked) -> BadFieldError:
    return BadFieldError(f"webhook {asked.subject[:200]} does not wait (any more)")


WEBHOOK_CHANGES = (
    PageChange("/webhooks/retry", "webhook", "/webhooks", _try_now),
    PageChange("/webhooks/remove", "webhook", "/webhooks", _give_up),
)
