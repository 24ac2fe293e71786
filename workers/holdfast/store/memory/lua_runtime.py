"""Functions that Redis offers to Lua scripts and that the Lua of this process lacks, written in Python.

`new` makes an empty Lua table; texts are bytes in Lua.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Table = Any  # of Lua
Json = None | bool | float | str | list["Json"] | dict[str, "Json"]
New = Callable[[], Table]

_NULL = object()  # neither nil nor a table, as in a server


def sha1hex(raw: bytes) -> bytes:
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest().encode()


def unpack(raw: bytes, new: New) -> Table:
    """Do what cmsgpack.unpack does."""
    return _as_lua(msgspec.msgpack.decode(raw), new)


def decode(raw: bytes, new: New) -> Table:
    """Do what cjson.decode does. Raises an error for invalid JSON. A number that is too large becomes infinite, as on a
    server."""
    return _as_lua(json.loads(raw.decode(), parse_int=float), new)


def encode(value: Any) -> bytes:
    """Do what cjson.encode does."""
    return json.dumps(_as_json(value)).encode()


def _as_json(value: Any) -> Json:
    match value:
        case bytes():
            return value.decode(errors="replace")
        case None | bool() | int() | float() | str():
            return value
        case _ if value is _NULL:
            return None
        case _:
            items: dict[Any, Any] = dict(value.items())
            if list(items) == list(range(1, len(items) + 1)):
                return [_as_json(each) for each in items.values()]
            return {str(_as_json(key)): _as_json(each) for key, each in items.items()}


def _as_lua(value: Json, new: New) -> Any:
    match value:
        case None:
            return _NULL
        case str():
            return value.encode()
        case dict():
            return _table({key.encode(): each for key, each in value.items()}, new)
        case list():
            return _table(dict(enumerate(value, 1)), new)
        case _:
            return value


def _table(items: Mapping[bytes, Json] | Mapping[int, Json], new: New) -> Table:
    table = new()
    for key, each in items.items():
        table[key] = _as_lua(each, new)
    return table
