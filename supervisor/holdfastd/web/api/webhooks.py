"""Operations on webhooks that wait."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast_config.redis_urls import mask_webhook
from holdfastd.documents.queue_documents import WebhookDocument, webhook_document
from holdfastd.operations.webhooks import GIVE_UP_WEBHOOK, RETRY_WEBHOOK
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit

Offset = Annotated[
    str, Meta(pattern=r"^[0-9]{0,7}$", description="Continue after an earlier page: the cursor that it gave.")
]


class WebhookQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 100
    cursor: Offset = ""


class WebhookList(TypedDict):
    """Webhooks that wait, of which there are `total`. `url`: of all tasks without one of their own; `cursor` continues
    the list, empty at its end."""

    url: str
    total: int
    webhooks: list[WebhookDocument]
    cursor: str


async def list_webhooks(call: ApiCall, query: WebhookQuery) -> WebhookList:
    """List webhooks that wait to be delivered, the next to be tried first."""
    after = int(query.cursor or 0)
    outbox = await call.store.outbox(after, query.limit)
    following = after + query.limit
    return {
        "url": mask_webhook(outbox.url) if outbox.url else "",
        "total": outbox.total,
        "webhooks": [webhook_document(each) for each in outbox.waiting],
        "cursor": str(following) if following < outbox.total else "",
    }


WEBHOOKS = (
    ApiOperation("GET", "/webhooks", list_webhooks),
    route("POST", "/webhooks/{webhook}/retry", RETRY_WEBHOOK),
    route("POST", "/webhooks/{webhook}/give-up", GIVE_UP_WEBHOOK),
)
