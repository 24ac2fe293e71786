"""Tries a webhook that waits to be delivered at once, or gives it up."""

from __future__ import annotations

from holdfast.store.protocol import Store
from holdfastd.web.queue.errors import NotFoundError

LONGEST_REASON = 500  # characters


async def try_now(store: Store, webhook: str) -> None:
    """Raises NotFoundError."""
    if not await store.notice_now(webhook):
        raise _missing(webhook)


async def give_up(store: Store, webhook: str, reason: str) -> None:
    """Raises NotFoundError."""
    if not await store.notice_done(webhook, reason[:LONGEST_REASON]):
        raise _missing(webhook)


def _missing(webhook: str) -> NotFoundError:
    return NotFoundError(f"webhook {webhook[:200]} does not wait (any more)")
