"""Encodes results and checkpoints as JSON: also dataclasses, dates, UUIDs, msgspec and pydantic models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from holdfast.core.json_errors import UNREADABLE_JSON


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
_skim = msgspec.json.Decoder(msgspec.Raw).decode  # checks the whole, makes nothing of it


def text_to_json(document: dict[str, Any]) -> bytes:
    """As `to_json`, for a document of texts alone: there is nothing in it to look for. Raises NotJsonError."""
    try:
        return _encoder.encode(document)
    except UnicodeEncodeError as error:
        raise NotJsonError(f"a text in it is not Unicode: {error.reason}") from None


def to_json(value: object) -> bytes:
    """Raises NotJsonError."""
    try:
        encoded = _encoder.encode(value)
        # Not a number and infinity are written as null: look for them only where there is a null at all.
        if b"null" in encoded and _has_no_number(_builtins(value)):
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
    """The value as JSON will have it, of plain types where it has one; bytes stay bytes, which JSON has not. Raises
    TypeError for what has no form in JSON."""
    if type(value) in _SCALARS:
        return value
    try:
        return msgspec.to_builtins(value, builtin_types=_BYTES, str_keys=True, enc_hook=_plain)
    except RecursionError:
        raise TypeError("a value contains itself, or is nested too deeply") from None


def _check(encoded: bytes) -> None:
    """Check a msgspec.Raw: it is written as it is, and nothing has read it before."""
    try:
        _skim(encoded)
        if not encoded.isascii():
            encoded.decode()
    except UNREADABLE_JSON as error:
        raise NotJsonError(f"a msgspec.Raw in it holds no JSON: {error}") from None


def _builtins(value: object) -> object:
    return msgspec.to_builtins(value, builtin_types=(msgspec.Raw,), enc_hook=_plain)


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
