"""Acts on webhooks that wait to be delivered, or were given up."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.error_statuses import NotFoundError

AT_ONCE = 1000  # webhooks of each kind that one act tries

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


class AllWebhooks(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The act applies to all webhooks."""


class TriedWebhooks(TypedDict):
    """`tried`: the number of webhooks that the steward tries now. `left`: the number of others, which wait for their
    next try."""

    tried: int
    left: int


async def retry_all_webhooks(doing: Doing, given: AllWebhooks) -> TriedWebhooks:
    """Try webhooks now: the first thousand that wait, and the last thousand that were given up."""
    outbox = await doing.call(doing.store.outbox, 0, AT_ONCE)
    given_up = await doing.call(doing.store.given_up, AT_ONCE)
    names = [each.notice.name for each in outbox.waiting] + [each.notice.name for each in given_up]
    tried = 0
    for name in dict.fromkeys(names):
        tried += await doing.call(doing.store.notice_now, name)
        doing.step(tried)
    left = outbox.total - len(outbox.waiting)
    doing.asked.outcome = f"{tried} are tried now" + (f", {left} others wait for their time" if left else "")
    return {"tried": tried, "left": left}


async def give_up_webhook(doing: Doing, given: GiveUpWebhook) -> WebhookAnswer:
    """Give up a waiting webhook: it is not delivered."""
    reason = doing.reason("given up", given.reason)
    if not await doing.call(doing.store.notice_done, given.webhook, reason):
        raise _missing(given.webhook)
    return {"webhook": given.webhook, "answer": "given-up"}


def _missing(webhook: str) -> NotFoundError:
    return NotFoundError(f"webhook {webhook[:200]} does not wait (any more)")


RETRY_WEBHOOK = Act("webhooks/retry", RetryWebhook, retry_webhook, "webhook")
RETRY_ALL_WEBHOOKS = Act("webhooks/retry-all", AllWebhooks, retry_all_webhooks)
GIVE_UP_WEBHOOK = Act("webhooks/remove", GiveUpWebhook, give_up_webhook, "webhook")
