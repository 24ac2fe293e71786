"""The place after which a list goes on, as an address holds it."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

DIGITS = 7


def list_place(request: Request) -> int:
    """0 where the address has none. Raises HTTPException 400."""
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        raise HTTPException(400, f"after {text[:50]!r}: a number is expected")
    return int(text)
