"""Checks the values of producers: JSON must be able to carry them unchanged."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Annotated, Any, TypeGuard, cast

import msgspec
from msgspec import Meta

from holdfast.errors import InvalidTaskError

MAX_DEPTH = 100
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def check_json(what: str, value: object) -> None:
    """Raise InvalidTaskError, naming the place, if JSON has no form for a value or would change it."""
    if not _is_plain(value, 0):
        _check(what, value, 0)


def is_number(value: object) -> TypeGuard[int | float]:
    """True for a finite number. False for True and False, although Python counts them as numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # not math.isfinite, which cannot take every whole number


def shown(value: object) -> str:
    """The value as text for an error message: quoted, escaped, short."""
    try:
        text = ascii(value)
    except Exception:  # a __repr__ of the user's may raise; the error message is needed all the same
        text = f"of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_plain(value: object, depth: int) -> bool:
    """True only for plain values that `_check` would accept. This is several times faster than `_check`, because it
    does not remember the places of values for an error text."""
    if type(value) is str:
        return value.isascii() or _is_text(value)
    if type(value) is int:
        return _SMALLEST <= value <= _LARGEST
    if type(value) is dict or type(value) is list or type(value) is tuple:
        return depth < MAX_DEPTH and _holds_plain(value, depth + 1)
    return value is None or type(value) is bool or (type(value) is float and math.isfinite(value))


def _holds_plain(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        for key in value:  # pyright: ignore[reportUnknownVariableType]
            if not (isinstance(key, str) and (key.isascii() or _is_text(key))):
                return False
        value = value.values()  # pyright: ignore[reportUnknownVariableType]
    for item in value:  # noqa: SIM110  # a generator for `all` takes longer than the checks
        if not _is_plain(item, depth):
            return False
    return True


def _is_text(text: str) -> bool:
    """True if `text` is Unicode text, without halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(path: str, value: object, depth: int) -> None:
    match value:
        case None | bool():
            pass
        case str():
            _check_text(path, value)
        case int():
            if not _SMALLEST <= value <= _LARGEST:
                raise InvalidTaskError(f"{path} {shown(value)}: whole numbers of up to 64 bits are allowed")
        case float():
            if not math.isfinite(value):
                raise InvalidTaskError(f"{path} {value}: JSON has no such number")
        case dict() | list() | tuple():
            _check_container(path, cast("dict[object, object] | list[object]", value), depth + 1)
        case _:
            raise InvalidTaskError(f"{path} {shown(value)}: JSON has no {type(value).__name__}")


def _check_container(path: str, value: dict[object, object] | list[object], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidTaskError(f"{path.partition('.')[0]}: nested deeper than {MAX_DEPTH}")
    items: Iterable[tuple[object, object]] = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise InvalidTaskError(f"{path} {shown(key)}: JSON allows only text as a key")
            _check_text(path, key)
        _check(f"{path}.{key}", item, depth)


def _check_text(path: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidTaskError(f"{path} {shown(text)}: not Unicode text: {error.reason}") from None


# The errors of reading JSON that somebody else wrote.
#
# The decoder raises three: one for text that is no JSON or not of the wanted type, one for text that is not UTF-8, one
# for text that is nested too deep. Readers must catch all three.

UNREADABLE_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_WHOLE = 1 << 53  # JSON has larger numbers, which the encoder refuses and other languages round
_LATEST = 253_402_300_799.0  # seconds, the end of the year 9999: a later time has no date, and no wait is so long

Whole = Annotated[int, Meta(ge=-_WHOLE, le=_WHOLE)]
Real = Annotated[float, Meta(ge=-_LATEST, le=_LATEST)]
