"""Webhooks: those that wait to be delivered, the next to be tried first."""

from __future__ import annotations

from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.webhook_notice import Notice, WaitingNotice
from holdfast_config.redis_urls import mask_webhook
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 50


class ShownNotice(NamedTuple):
    """`url` without its secrets; `why`: the record of a notice that cannot be read."""

    name: str
    task_id: str
    state: str
    url: str
    at_ms: int | None
    tries: int
    due_ms: int
    why: str = ""


async def webhooks(request: Request) -> Response:
    access, after = queue_of(request), _after(request.query_params.get("after", "0"))
    outbox, counters = await access.store.outbox(after, PAGE), (await access.store.counts()).counters
    following = after + PAGE if after + PAGE < outbox.total else None
    return page(
        request,
        "webhooks.html",
        url=mask_webhook(outbox.url) if outbox.url else "",
        total=outbox.total,
        waiting=[_shown(each) for each in outbox.waiting],
        delivered=counters.get("webhooks", 0),
        dropped=counters.get("webhooks-dropped", 0),
        following=following,
        now_ms=await access.store.clock_ms(),
    )


def _shown(each: WaitingNotice) -> ShownNotice:
    notice = each.notice
    if isinstance(notice, Notice):
        url = mask_webhook(notice.url)
        return ShownNotice(notice.name, notice.task_id, notice.state, url, notice.at_ms, notice.tries, each.due_ms)
    return ShownNotice(notice.name, notice.name.partition("|")[0], "", "", None, 0, each.due_ms, notice.why)


def _after(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 7):
        raise HTTPException(400, f"after {text[:50]!r}: a number is expected")
    return int(text)
