"""Webhooks that wait, as documents."""

from __future__ import annotations

from typing import TypedDict

from holdfast.core.webhook_notice import Notice, WaitingNotice
from holdfast_config.redis_urls import mask_webhook
from holdfastd.documents.times import Moment, moment


class WebhookDocument(TypedDict):
    """A webhook that waits. `webhook`: its name; `url`: without its secrets; `at`: when its task came to `state`;
    `due`: the next try; `why`: the reason why its record cannot be read, else empty."""

    webhook: str
    task_id: str
    state: str
    url: str
    at: Moment | None
    tries: int
    due: Moment | None
    why: str


def webhook_document(each: WaitingNotice) -> WebhookDocument:
    notice = each.notice
    if isinstance(notice, Notice):
        task_id, state, url, at, tries = (
            notice.task_id,
            notice.state,
            mask_webhook(notice.url),
            notice.at_ms,
            notice.tries,
        )
        why = ""
    else:
        task_id, state, url, at, tries = notice.name.partition("|")[0], "", "", None, 0
        why = notice.why
    return {
        "webhook": notice.name,
        "task_id": task_id,
        "state": state,
        "url": url,
        "at": moment(at),
        "tries": tries,
        "due": moment(each.due_ms),
        "why": why,
    }
