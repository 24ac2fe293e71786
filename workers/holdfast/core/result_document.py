"""Result documents: what is kept of a turn, as JSON.

{"state": "completed", "parts": [{"kind": "text", "text": …}]}
{"state": "failed", "parts": [], "error": {"type": …, "message": …, "traceback": …}}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

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


class Result(msgspec.Struct, frozen=True):
    """A result document; `error` has type, message and traceback, where the turn failed."""

    state: str = ""
    parts: list[Part] = []
    error: dict[str, Any] | None = None

    @property
    def value(self) -> object:
        """The value that the handler returned: a text, a JSON value, None; a list if it returned several."""
        return value_of(self.parts)


def value_of(parts: Iterable[Part]) -> object:
    """The text or JSON value of one part; a list of those of several, None for no part."""
    values = [_content(part) for part in parts]
    return values[0] if len(values) == 1 else values or None


_result_decoder = msgspec.json.Decoder(Result)


def read_result(document: bytes | None) -> Result:
    """The result in `document`; other bytes count as one text, None as an empty result."""
    if document is None:
        return Result()
    try:
        return _result_decoder.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Result(parts=[text_part(document.decode("utf-8", "backslashreplace"))])


def failure_in(document: bytes | None) -> Failure | None:
    """The error that a result document tells of."""
    kept = read_result(document).error
    if kept is None:
        return None
    return Failure(*(str(kept.get(part) or "") for part in ("type", "message", "traceback")))


def _content(part: Part) -> object:
    return cast("object", part.get("text" if part.get("kind") == "text" else "data"))
