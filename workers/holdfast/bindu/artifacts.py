"""Result documents with what a worker of the framework has made: its artifacts and messages as they are.

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
    """A result, whoever wrote it; `artifacts` and `messages` are None where it was a handler of ours."""

    state: str = ""
    parts: list[dict[str, Any]] = []
    error: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] | None = None
    messages: list[dict[str, Any]] | None = None

    @property
    def said(self) -> list[dict[str, Any]]:
        """The parts of what was answered, else those of the error."""
        message = (self.error or {}).get("message")
        return self.parts or ([{"kind": "text", "text": message}] if isinstance(message, str) else [])


_decode = msgspec.json.Decoder(TurnResult).decode


def document(state: str, artifacts: list[dict[str, Any]], messages: list[dict[str, Any]]) -> ResultDocument:
    """What is kept of a turn. Raises InvalidTaskError for what JSON does not have."""
    parts = [part for each in artifacts or messages for part in parts_of(each)]
    told: dict[str, Any] = {"state": state, "parts": parts, "artifacts": artifacts, "messages": messages}
    if state not in {"failed", "rejected"}:
        return ResultDocument(encoded(told), "")
    reason = text_of(parts) or f"the worker answered {state}"
    told["error"] = {"type": state.capitalize(), "message": reason, "traceback": ""}
    return ResultDocument(encoded(told), reason)


def result_of(raw: bytes) -> TurnResult:
    """What cannot be read as one counts as one text."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return TurnResult(parts=[{"kind": "text", "text": raw.decode("utf-8", "backslashreplace")}])
