"""Messages of an event stream (text/event-stream), as bytes."""

from __future__ import annotations

import msgspec

RETRY_MS = 2000  # a browser connects again so long after its connection broke
BEGINNING = b"retry: %d\n\n" % RETRY_MS
HEARTBEAT = b": still here\n\n"

json = msgspec.json.Encoder().encode


def message(data: object, event: str = "", position: str = "") -> bytes:
    """`event`: its type, empty for the usual one; `position`: a client that connects again names the last one."""
    head = f"event: {event}\n" if event else ""
    return b"%sdata: %s\n%s\n" % (head.encode(), json(data), _id(position))


def place(position: str) -> bytes:
    """Only a position: a client notes it, and is told nothing."""
    return _id(position) + b"\n"


def _id(position: str) -> bytes:
    return b"id: %s\n" % position.encode() if position else b""
