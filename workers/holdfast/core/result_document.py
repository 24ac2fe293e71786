"""Result documents: what is kept of a turn, as JSON.

{"state": "completed", "parts": [{"kind": "text", "text": …}]}
{"state": "failed", "parts": [], "error": {"type": …, "message": …, "traceback": …}}
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.messages import Part, text_part
from holdfast.core.outcomes import Failure

_encode = msgspec.json.Encoder().encode

NOTHING = b'{"state":"completed","parts":[]}'  # of a turn that had nothing to say


class _Kept(msgspec.Struct):
    parts: list[Part] = []
    error: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(_Kept)


def failure_document(state: str, failure: Failure, parts: list[Part] | None = None) -> bytes:
    """The document of a turn that ended as failed or rejected."""
    error = {"type": failure.type, "message": failure.message, "traceback": failure.traceback}
    return _encode({"state": state, "parts": parts or [], "error": error})


def reply_parts(document: bytes) -> list[Part]:
    """The handler's answer in an earlier turn: its parts, else its error; nothing if the document cannot be read."""
    try:
        parsed = _decoder.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    message = parsed.error.get("message")
    return parsed.parts or ([text_part(message)] if isinstance(message, str) else [])
