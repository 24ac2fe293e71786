"""Parts of messages and artifacts, as handlers get and return them, and files in base64.

A handler answers with a file by returning what it would get as one, or a list of parts:

    {"kind": "file", "file": {"bytes": "aGk=", "name": "hi.txt", "mime_type": "text/plain"}}     or "uri" for "bytes"
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from holdfast.core.messages import Part

_OF_FILE = ("bytes", "uri", "name", "mime_type")
_URL_SAFE = str.maketrans("-_", "+/")


def canonical_base64(text: str) -> str | None:
    """The text in the usual alphabet and with its padding, as every reader knows it. It may come in the alphabet of
    URLs or without padding, as ProtoJSON allows both. None for a text that is no base64."""
    known = text.translate(_URL_SAFE).rstrip("=")
    padded = known + "=" * (-len(known) % 4)
    if len(text) not in (len(known), len(padded)):
        return None
    try:
        base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return padded


def file_of(part: Part) -> dict[str, Any] | None:
    """The file of a part: its bytes in base64, or its URI; None where there is neither, or both."""
    file: object = part.get("file")
    if part.get("kind") != "file" or not isinstance(file, dict):
        return None
    fields = {name: value for name, value in cast("dict[str, Any]", file).items() if value is not None}
    are_texts = all(isinstance(fields.get(name, ""), str) for name in _OF_FILE)
    if not are_texts or ("bytes" in fields) == ("uri" in fields):
        return None
    if "uri" in fields:
        return fields
    encoded = canonical_base64(fields["bytes"])
    return None if encoded is None else fields | {"bytes": encoded}


def shown_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, with those that a handler has returned as a value in the place of the value."""
    for part in parts:
        data = part.get("data") if part.get("kind") == "data" else None
        given = cast("list[object]", data) if isinstance(data, list) else [data]
        if given and all(map(_is_part, given)):
            yield from cast("list[Part]", given)
        else:
            yield part


def _is_part(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    part = cast("Part", value)
    if not isinstance(part.get("metadata", {}), Mapping):
        return False
    match part.get("kind"):
        case "text":
            return isinstance(part.get("text"), str)
        case "data":
            return "data" in part
        case _:
            return file_of(part) is not None
