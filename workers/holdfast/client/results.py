"""Reads a recorded result as Python values. The document is `{"state", "parts": […], "error": {…}}`."""

from __future__ import annotations

from typing import Any, cast

import msgspec


class Result(msgspec.Struct, frozen=True):
    """A result document; `error` has type, message and traceback, where the turn failed."""

    state: str = ""
    parts: list[dict[str, Any]] = []
    error: dict[str, Any] | None = None

    @property
    def value(self) -> object:
        """The value that the handler returned: a text, a JSON value, None; a list if it returned several."""
        values = [_content(part) for part in self.parts]
        return values[0] if len(values) == 1 else values or None


_decoder = msgspec.json.Decoder(Result)


def read_result(document: bytes | None) -> Result:
    """The result in `document`; other bytes count as one text, None as an empty result."""
    if document is None:
        return Result()
    try:
        return _decoder.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Result(parts=[{"kind": "text", "text": document.decode("utf-8", "backslashreplace")}])


def _content(part: dict[str, Any]) -> object:
    key = "text" if part.get("kind") == "text" else "data"
    return cast("object", part.get(key))
