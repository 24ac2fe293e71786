"""Reads and decodes the path, the query and the body of a request, within bounds."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from holdfastd.operations.reading import InvalidArgumentError, kinds_of, misfit
from holdfastd.web.access.forms import read_body

_MOST_FIELDS = 100  # fields of a query


def read_segments(request: Request, prefix: str) -> tuple[str, ...]:
    """The segments of the path behind `prefix`. They are split before they are decoded, so a value may hold a slash."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    try:
        return tuple(unquote_to_bytes(each).decode() for each in raw.removeprefix(prefix.encode()).split(b"/"))
    except UnicodeDecodeError:
        raise HTTPException(404, "no such page: its URL is not UTF-8") from None


def read_query(request: Request, wanted: type[Any]) -> Any:
    """The query of the URL as a value of this struct. Raises InvalidArgumentError."""
    try:
        given = parse_qsl(request.url.query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidArgumentError(f"the query cannot be read: {error}") from None
    try:
        return msgspec.convert(_values(given, wanted), wanted, strict=False)
    except msgspec.ValidationError as error:
        raise _misfit(error, wanted, dict(given)) from None


async def read_json(request: Request, wanted: Any, most: int) -> Any:
    """The body as a value of this type; a missing body counts as `{}`. Raises InvalidArgumentError, and HTTPException
    413 or 415."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "application/json"):
        raise HTTPException(415, f"content-type {kind[:80]!r}: application/json is expected")
    body = await read_body(request, most)
    if body and not kind:
        raise HTTPException(415, "content-type: application/json is expected")
    try:
        return msgspec.json.decode(body or b"{}", type=wanted)
    except msgspec.ValidationError as error:
        raise _misfit(error, wanted, _document(body)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise InvalidArgumentError("the body is nested too deeply") from None


def _document(body: bytes) -> object:
    """The body as plain JSON values, for the text of an error; None if the body is not JSON."""
    try:
        return msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _values(given: list[tuple[str, str]], wanted: type[Any]) -> dict[str, object]:
    lists = {each.name for each in msgspec.structs.fields(wanted) if each.default_factory is list}
    values = dict[str, object]()
    for name, value in given:
        if name in lists:
            values.setdefault(name, []).append(value)  # type: ignore[attr-defined]
        elif name in values:
            raise InvalidArgumentError(f"{name[:80]} is given twice", name[:80])
        else:
            values[name] = value
    return values


def _misfit(error: msgspec.ValidationError, wanted: Any, given: object) -> InvalidArgumentError:
    values = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    structs = [kind for kind in kinds_of(wanted) if hasattr(kind, "__struct_fields__")]
    return misfit(error, structs[0] if structs else None, values)
