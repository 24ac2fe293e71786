"""A position in a stream of the store, as an address holds it."""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request

# The place after which a list goes on, as an address holds it.

DIGITS = 7


def list_place(request: Request) -> int:
    """0 where the address has none. Raises HTTPException 400."""
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        raise HTTPException(400, f"after {text[:50]!r}: a number is expected")
    return int(text)


_POSITION = re.compile(r"([0-9]{1,19}-[0-9]{1,19})?")


def stream_position(request: Request, name: str) -> str:
    """Empty where the address has none. Raises HTTPException 400 for anything that is no position."""
    return position_of(name, request.query_params.get(name, ""))


def position_of(name: str, given: str) -> str:
    """Raises HTTPException 400 for a text that is no position and not empty."""
    if not _POSITION.fullmatch(given):
        raise HTTPException(
            400, f"{name} {given[:50]!r}: the position of an entry, such as 1700000000000-0, is expected"
        )
    return given
