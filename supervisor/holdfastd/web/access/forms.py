"""The form that a browser has sent, and the change that it asks for."""

from __future__ import annotations

import hmac
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from holdfast.core.bulk_changes import BulkChange
from holdfastd.operations import notes
from holdfastd.operations.act import Act, Doing, Face, Operator, left_alone
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.accounts import Visitor
from holdfastd.web.queue.queue_access import QueueAccess, note, origin

MOST_BYTES = 1 << 20
PROMPTLY = 1.0  # seconds in which a body comes; of a slower one the login is looked at again
CSRF = "csrf"


def visitor_of(request: Request) -> Visitor:
    """The visitor that the guard has let in."""
    visitor = request.scope["visitor"]
    assert isinstance(visitor, Visitor)
    return visitor


async def login_counts(request: Request) -> bool:
    """True if the login of this request is still valid, as it was when the guard let it in."""
    return bool(await request.app.state.visitors.keeps(visitor_of(request), request.scope))


async def check_login_counts(request: Request) -> None:
    """Check the login of a request that has waited long. Raises HTTPException 401."""
    if not await login_counts(request):
        raise HTTPException(401, "the login of this request has ended: log in again")


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form as sent, not checked yet. `last` and `every` read fields for Activity, even if the change is refused.
    `allowed` gives the fields to a change."""

    _visitor: Visitor
    _pairs: list[tuple[str, str]]

    def last(self, field: str) -> str:
        return next(iter(reversed(self.every(field))), "")

    def every(self, field: str) -> list[str]:
        """The values of a field in a form that nobody has looked at."""
        return [value for name, value in self._pairs if name == field]

    def allowed(self, act: Act[Any, Any]) -> dict[str, str]:
        """The fields of a change, of several with one name the last. Raises HTTPException 403 for a visitor who may not
        ask for it, and for a form without the secret of this session."""
        check_may(self._visitor, act)
        fields = dict(self._pairs)
        check_secret(self._visitor, fields.pop(CSRF, ""))
        return fields


async def read_form(request: Request) -> SentForm:
    """Raises HTTPException 413 for one that is too large."""
    pairs = parse_qsl((await read_body(request)).decode("utf-8", "replace"), keep_blank_values=True)
    return SentForm(visitor_of(request), pairs)


def check_may(visitor: Visitor, act: Act[Any, Any]) -> None:
    """Raises HTTPException 403 if the act is not for the role of the visitor."""
    if visitor.role not in act.roles:
        raise HTTPException(403, "a viewer may change nothing: log in as an operator")


def check_secret(visitor: Visitor, given: str) -> None:
    """Raises HTTPException 403 for a change that a browser's session asks for without its secret."""
    if visitor.needs_secret and not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
        raise HTTPException(403, "this form is of another session: load the page again")


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Raises HTTPException 413 as soon as more than `most` bytes have come, and 401 for a slow body that has come
    whole only after the login of its request has ended."""
    body, began = bytearray(), time.monotonic()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"the body is larger than {most} bytes", {"connection": "close"})
    if request.scope["visitor"] is not None and time.monotonic() - began >= PROMPTLY:
        await check_login_counts(request)
    return bytes(body)


# A change that a visitor asks for, from the request to its place in Activity.
#
#     async with noted(request, "tasks/cancel", task_id) as asked:
#         …  # all that may refuse it: the role, the secret of the form, its fields, the queue
#
# Each change of the forms, of the API and of the agent passes here, so what is refused is written down, whoever refuses
# it. Requests of strangers are not: they could fill the list.

LONGEST = 2.0  # seconds of an act in steps: its answer must come before a proxy gives up


@asynccontextmanager
async def noted(request: Request, change: str, subject: str = "") -> AsyncGenerator[AskedChange]:
    """Write the change down when it was carried out or refused. An empty `change` only reads: nothing is written."""
    asked = AskedChange(visitor_of(request).name, origin(request), partial(note, request), change, subject)
    async with notes.noted(asked, _why, (ClientDisconnect,)):
        yield asked


def doing(
    access: QueueAccess, asked: AskedChange, face: Face, begun: Callable[[BulkChange], object] = left_alone
) -> Doing:
    """The surroundings of an act, for the visitor who asks for this change."""
    return Doing(
        access.store,
        access.manager,
        access.settings,
        Operator(asked.who, asked.origin, face),
        asked,
        seconds=LONGEST,
        shown=access.redaction.query,
        begun=begun,
    )


def _why(error: Exception) -> str:
    return str(error.detail) if isinstance(error, HTTPException) else notes.why(error)
