"""Acts on webhooks that wait to be delivered, or were given up."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.errors import NotFoundError

Webhook = Annotated[str, Meta(description="Name of the webhook, as the list shows it.")]


class RetryWebhook(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The webhook."""

    webhook: Webhook


class GiveUpWebhook(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The webhook to give up, and the reason."""

    webhook: Webhook
    reason: Reason = ""


class WebhookAnswer(TypedDict):
    """`answer`: due (the steward tries the webhook now) or given-up."""

    webhook: str
    answer: str


async def retry_webhook(doing: Doing, given: RetryWebhook) -> WebhookAnswer:
    """Try a webhook now: one that waits, or one of the last thousand that were given up."""
    if not await doing.call(doing.store.notice_now, given.webhook):
        raise NotFoundError(f"no webhook {given.webhook[:200]} waits, and none of this name was given up lately")
    return {"webhook": given.webhook, "answer": "due"}


async def give_up_webhook(doing: Doing, given: GiveUpWebhook) -> WebhookAnswer:
    """Give up a waiting webhook: it is not delivered."""
    reason = doing.reason("given up", given.reason)
    if not await doing.call(doing.store.notice_done, given.webhook, reason):
        raise _missing(given.webhook)
    return {"webhook": given.webhook, "answer": "given-up"}


def _missing(webhook: str) -> NotFoundError:
    return NotFoundError(f"webhook {webhook[:200]} does not wait (any more)")


RETRY_WEBHOOK = Act("webhooks/retry", RetryWebhook, retry_webhook, "webhook")
GIVE_UP_WEBHOOK = Act("webhooks/remove", GiveUpWebhook, give_up_webhook, "webhook")
