"""Handlers as workers publish them: how a task of each is submitted, for forms, APIs and agents. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

MOST_HANDLERS = 1_000  # of one application
MOST_BYTES = 8_192  # of the arguments of one handler, as JSON
MOST_BYTES_OF_ALL = 262_144
LONGEST_SUMMARY = 300  # characters


class PublishedHandler(msgspec.Struct, frozen=True, omit_defaults=True):
    """A handler by its name; the empty name: that of tasks that name none.

    `arguments`: a JSON schema of its kwargs, an object; None: any JSON object, or none for tasks that name none.
    `takes_text`: it reads the messages of its task. `summary`: the first line of its docstring. `lane`, `max_attempts`,
    `timeout` (seconds): as it was registered.
    """

    name: str
    arguments: dict[str, Any] | None = None
    takes_text: bool = False
    summary: str = ""
    lane: str = ""
    max_attempts: int | None = None
    timeout: float | None = None


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(PublishedHandler)


def spelled(handler: PublishedHandler) -> bytes:
    """As a store keeps it; without its arguments where they are too large."""
    if handler.arguments is not None and len(_encode(handler.arguments)) > MOST_BYTES:
        handler = msgspec.structs.replace(handler, arguments=None)
    return _encode(handler)


def read_published(text: bytes) -> PublishedHandler | None:
    """The handler that a text of the store holds; None for a text that no Holdfast writes."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
