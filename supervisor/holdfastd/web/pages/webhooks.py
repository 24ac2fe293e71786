"""Webhooks: those that wait to be delivered, the next to be tried first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast_config.redis_urls import mask_webhook
from holdfastd.documents.webhook_documents import webhook_document
from holdfastd.web.http.addresses import list_place
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 50


async def webhooks(request: Request) -> Response:
    access, after = queue_of(request), list_place(request)
    outbox, counters = await access.store.outbox(after, PAGE), (await access.store.counts()).counters
    following = after + PAGE if after + PAGE < outbox.total else None
    return page(
        request,
        "webhooks.html",
        url=mask_webhook(outbox.url) if outbox.url else "",
        total=outbox.total,
        waiting=[(each, webhook_document(each)) for each in outbox.waiting],
        delivered=counters.get("webhooks", 0),
        dropped=counters.get("webhooks-dropped", 0),
        following=following,
        now_ms=await access.store.clock_ms(),
    )
