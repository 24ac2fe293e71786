"""The fields of a form that a browser has sent, read only when it may change something."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from holdfast.errors import HoldfastError
from holdfastd.web.access.visitor import Visitor

MOST_BYTES = 1 << 20
CSRF = "csrf"


class BadFieldError(HoldfastError):
    """A field of a form has a value that is not allowed; the message names the field and what is allowed."""


def visitor_of(request: Request) -> Visitor:
    """The visitor that the guard has let in."""
    visitor = request.scope["visitor"]
    assert isinstance(visitor, Visitor)
    return visitor


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a change, of several with one name the last. Raises as `read_fields`."""
    return dict(await read_fields(request))


async def read_fields(request: Request) -> list[tuple[str, str]]:
    """The fields of a change. Raises HTTPException for a viewer (403), a form without this session's secret (403), or
    one that is too large (413)."""
    visitor = visitor_of(request)
    check_may_change(visitor)
    fields = parse_qsl((await read_body(request)).decode("utf-8", "replace"), keep_blank_values=True)
    check_secret(visitor, dict(fields).get(CSRF, ""))
    return [(name, value) for name, value in fields if name != CSRF]


def check_may_change(visitor: Visitor) -> None:
    """Raises HTTPException 403 for a viewer."""
    if not visitor.may_change:
        raise HTTPException(403, "a viewer may change nothing: log in as an operator")


def check_secret(visitor: Visitor, given: str) -> None:
    """Raises HTTPException 403 for a change that a browser's session asks for without its secret."""
    if visitor.needs_secret and not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
        raise HTTPException(403, "this form is of another session: load the page again")


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Raises HTTPException 413 as soon as more than `most` bytes have come."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"the body is larger than {most} bytes", {"connection": "close"})
    return bytes(body)
