"""Turns the value that a handler returned into an outcome.

A str becomes a text artifact, None no artifact, any other JSON value a data artifact. A dict whose `state` is in STATES
ends the turn in this state. Its text is the first text among TEXT_KEYS, its `result` becomes an artifact, and its other
entries are kept as data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from holdfast.core.messages import Part, data_part, text_part
from holdfast.core.outcomes import NOTHING, Completed, Failed, Failure, InputAsked, Outcome, Raised, Rejected
from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.handler.failures import MESSAGE_BYTES, bounded

# Encodes results and checkpoints as JSON: also dataclasses, dates, UUIDs, msgspec and pydantic models.


class NotJsonError(ValueError):
    """This value cannot be kept as JSON; the message says why."""


def _plain(value: object) -> object:
    """Convert types that msgspec does not know: pydantic models, numbers and arrays of numpy."""
    for method, arguments in (("model_dump", {"mode": "json"}), ("tolist", {})):
        convert = getattr(value, method, None)
        if callable(convert):
            return convert(**arguments)
    raise TypeError(f"JSON has no {type(value).__qualname__}")


_SCALARS = frozenset({str, int, float, bool, type(None)})
_BYTES = (bytes, bytearray, memoryview)
_encoder = msgspec.json.Encoder(enc_hook=_plain)
_skim = msgspec.json.Decoder(msgspec.Raw).decode  # checks that a text is JSON, and builds no values


def text_to_json(document: dict[str, Any]) -> bytes:
    """Like `to_json`, but faster, for a document that holds only texts. Raises NotJsonError."""
    try:
        return _encoder.encode(document)
    except UnicodeEncodeError as error:
        raise NotJsonError(f"a text in it is not Unicode: {error.reason}") from None


def to_json(value: object) -> bytes:
    """The value as JSON. Raises NotJsonError."""
    try:
        encoded = _encoder.encode(value)
        # msgspec writes NaN and infinity as null. So they are searched for only if the text has a null.
        if b"null" in encoded and _has_no_number(
            msgspec.to_builtins(value, builtin_types=(msgspec.Raw,), enc_hook=_plain)
        ):
            raise NotJsonError("JSON has no NaN and no infinity")
        _check(encoded)
    except UnicodeEncodeError as error:
        raise NotJsonError(f"a text in it is not Unicode: {error.reason}") from None
    except RecursionError:
        raise NotJsonError("it contains itself, or is nested too deeply") from None
    except NotJsonError:
        raise
    except Exception as error:
        raise NotJsonError(str(error)) from error
    return encoded


def to_plain(value: object) -> object:
    """The value converted to plain JSON types; bytes stay bytes, although JSON has none. Raises TypeError for a value
    without a form in JSON."""
    if type(value) in _SCALARS:
        return value
    try:
        return msgspec.to_builtins(value, builtin_types=_BYTES, str_keys=True, enc_hook=_plain)
    except RecursionError:
        raise TypeError("a value contains itself, or is nested too deeply") from None


def _check(encoded: bytes) -> None:
    """Check that the JSON is valid. A msgspec.Raw in the value may hold anything, because msgspec writes it
    unchanged."""
    try:
        _skim(encoded)
        if not encoded.isascii():
            encoded.decode()
    except UNREADABLE_JSON as error:
        raise NotJsonError(f"a msgspec.Raw in it holds no JSON: {error}") from None


def _has_no_number(value: object) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_no_number, cast("dict[str, Any]", value).values()))
        case list() | tuple() | set() | frozenset():
            return any(map(_has_no_number, cast("Iterable[Any]", value)))
        case _:
            return False


STATES = frozenset({"completed", "failed", "rejected", "input-required", "auth-required"})
TEXT_KEYS = ("prompt", "message", "text", "reason", "error")

_NOTHING = Completed(NOTHING)

_Returned = Completed | InputAsked | Failed | Rejected


def outcome_of(value: object, max_bytes: int) -> Outcome:
    """The outcome for a returned value. If the value cannot be kept as JSON, or is longer than `max_bytes`, the outcome
    is an error that is not retried."""
    if value is None:
        return _NOTHING
    try:
        if type(value) is str:
            outcome: _Returned = Completed(text_to_json({"state": "completed", "parts": [text_part(value)]}))
        else:
            outcome = _ending(cast("dict[str, Any]", value)) if _is_ending(value) else _completed(_parts(value))
    except NotJsonError as error:
        return _refused(f"the handler returned a value of type {type(value).__name__} that cannot be kept: {error}")
    if len(outcome.result) > max_bytes:
        return _refused(f"the handler returned {len(outcome.result)} bytes: at most {max_bytes} are kept")
    if isinstance(outcome, Completed) and type(value) is int and value >= 0:
        return replace(outcome, backoff=float(value))  # seconds, if a CONTINUE schedule made the task
    return outcome


def _is_ending(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    state = cast("dict[object, object]", value).get("state")
    return isinstance(state, str) and state in STATES


def _completed(parts: list[Part]) -> Completed:
    return Completed(to_json({"state": "completed", "parts": parts}))


def _ending(value: dict[str, Any]) -> _Returned:
    state = value["state"]
    key = next((key for key in TEXT_KEYS if isinstance(value.get(key), str)), None)
    text = "" if key is None else value[key]
    rest = {name: item for name, item in value.items() if name not in ("state", "result", key)}
    parts = [*_parts(text or None), *_parts(value.get("result")), *([data_part(rest)] if rest else [])]
    match state:
        case "completed":
            return _completed(parts)
        case "failed" | "rejected":
            return _declined(state, text, parts)
        case _:
            return InputAsked(state, to_json({"state": state, "parts": parts}))


def _declined(state: str, text: str, parts: list[Part]) -> Failed | Rejected:
    reason = bounded(text, MESSAGE_BYTES) or f"the handler answered {state}"
    error = {"type": state.capitalize(), "message": reason, "traceback": ""}
    document = to_json({"state": state, "parts": parts, "error": error})
    return Failed(document, reason) if state == "failed" else Rejected(document, reason)


def _parts(value: object) -> list[Part]:
    if value is None:
        return []
    if isinstance(value, bytes | bytearray | memoryview):
        raise NotJsonError("JSON has no bytes; decode them, or encode them as text")
    return [text_part(value) if isinstance(value, str) else data_part(value)]


def _refused(message: str) -> Raised:
    return Raised(Failure("ResultError", message), final=True)
