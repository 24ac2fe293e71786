"""Writes down who has asked for a change, from where, and why it was refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from starlette.requests import Request

from holdfast.core.activity import Activity
from holdfast.errors import StoreError
from holdfastd.web.queue.queue_access import QueueAccess

MOST = 500  # characters of a text that is kept


def origin(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else "a local socket"


async def note(access: QueueAccess, activity: Activity) -> None:
    """A change counts although the note of it fails: it was made, or refused, before."""
    texts = {name: getattr(activity, name)[:MOST] for name in ("subject", "outcome", "related")}
    bounded = replace(activity, **texts)
    with suppress(StoreError):
        await access.store.note_activity(bounded)
