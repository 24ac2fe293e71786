"""Result documents that hold the artifacts and messages of a framework's worker as they are.

{"state": …, "parts": […], "error": {…}, "artifacts": […], "messages": […]}; others read only the first three.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from holdfast.bindu.envelopes import encoded, parts_of
from holdfast.core.messages import text_of


class ResultDocument(NamedTuple):
    encoded: bytes
    reason: str


class TurnResult(msgspec.Struct, frozen=True):
    """A result of either kind of worker; `artifacts` and `messages` are None if a handler of this library made it."""

    state: str = ""
    parts: list[dict[str, Any]] = []
    error: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] | None = None
    messages: list[dict[str, Any]] | None = None

    @property
    def said(self) -> list[dict[str, Any]]:
        """The parts of the answer, else the message of the error."""
        message = (self.error or {}).get("message")
        return self.parts or ([{"kind": "text", "text": message}] if isinstance(message, str) else [])


_decode = msgspec.json.Decoder(TurnResult).decode


def document(state: str, artifacts: list[dict[str, Any]], messages: list[dict[str, Any]]) -> ResultDocument:
    """The document that is stored for a turn. Raises InvalidTaskError if JSON cannot hold it."""
    parts = [part for each in artifacts or messages for part in parts_of(each)]
    fields: dict[str, Any] = {"state": state, "parts": parts, "artifacts": artifacts, "messages": messages}
    if state not in {"failed", "rejected"}:
        return ResultDocument(encoded(fields), "")
    reason = text_of(parts) or f"the worker answered {state}"
    fields["error"] = {"type": state.capitalize(), "message": reason, "traceback": ""}
    return ResultDocument(encoded(fields), reason)


def result_of(raw: bytes) -> TurnResult:
    """Read a result; bytes that are no result document count as one text."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return TurnResult(parts=[{"kind": "text", "text": raw.decode("utf-8", "backslashreplace")}])
