"""Unreadable entries and events as documents."""

from __future__ import annotations

from typing import TypedDict

from holdfast.core.activity import Happening
from holdfast.core.lanes import UnreadableEntry
from holdfastd.documents.times import Moment, moment


class UnreadableDocument(TypedDict):
    """An entry that was set aside. `size`: its bytes; `cut`: only its beginning is kept."""

    address: str
    at: Moment | None
    lane: str
    reason: str
    size: int
    cut: bool
    raw: str


class EventDocument(TypedDict):
    """An event. `id`: of the task or worker."""

    at: Moment | None
    position: str
    event: str
    id: str
    detail: str


def unreadable_document(each: UnreadableEntry) -> UnreadableDocument:
    return {
        "address": each.address,
        "at": moment(each.at_ms),
        "lane": each.lane,
        "reason": each.reason,
        "size": each.size,
        "cut": each.is_cut,
        "raw": each.raw.decode("utf-8", "backslashreplace"),
    }


def event_document(event: Happening) -> EventDocument:
    return {
        "at": moment(event.at_ms),
        "position": event.position,
        "event": event.event,
        "id": event.subject,
        "detail": event.detail,
    }
