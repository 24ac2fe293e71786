"""The form that a browser has sent, and the change that the form asks for."""

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
from holdfastd.operations.known import NameFilter, unknown_names
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.accounts import Visitor
from holdfastd.web.queue.queue_access import WARNING, QueueAccess, note, origin, queue_of

MOST_BYTES = 1 << 20
PROMPTLY = 1.0  # seconds; if a body takes longer to arrive, the login is checked again
CSRF = "csrf"


def visitor_of(request: Request) -> Visitor:
    """The visitor that the guard has let in."""
    visitor = request.scope["visitor"]
    assert isinstance(visitor, Visitor)
    return visitor


async def login_counts(request: Request) -> bool:
    """True if the login of this request is still valid. The guard has checked the login when the request came, but it
    may have ended since then."""
    return bool(await request.app.state.visitors.keeps(visitor_of(request), request.scope))


async def check_login_counts(request: Request) -> None:
    """Check again the login of a request that has waited long. Raises HTTPException 401."""
    if not await login_counts(request):
        raise HTTPException(401, "the login of this request has ended: log in again")


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form as a browser sent it, not checked yet. `last` answers with the last value of a field and `every` with all
    its values. Both work before the check, because the page Activity also lists refused changes. `allowed` checks the
    visitor and the secret, and returns the fields for a change."""

    _visitor: Visitor
    _pairs: list[tuple[str, str]]

    def last(self, field: str) -> str:
        return next(iter(reversed(self.every(field))), "")

    def every(self, field: str) -> list[str]:
        """All values that the form has for a field. They are not checked."""
        return [value for name, value in self._pairs if name == field]

    def allowed(self, act: Act[Any, Any]) -> dict[str, str]:
        """The fields of a change. If several fields have one name, the last counts. Raises HTTPException 403 if the
        visitor may not ask for this act, or the form lacks the secret of the session."""
        check_may(self._visitor, act)
        fields = dict(self._pairs)
        check_secret(self._visitor, fields.pop(CSRF, ""))
        return fields


async def read_form(request: Request) -> SentForm:
    """Read the form of a request. Raises HTTPException 413 if the form is too large."""
    pairs = parse_qsl((await read_body(request)).decode("utf-8", "replace"), keep_blank_values=True)
    return SentForm(visitor_of(request), pairs)


def check_may(visitor: Visitor, act: Act[Any, Any]) -> None:
    """Check that the visitor's role may ask for the act. Raises HTTPException 403."""
    if visitor.role not in act.roles:
        raise HTTPException(403, "a viewer may change nothing: log in as an operator")


def check_secret(visitor: Visitor, given: str) -> None:
    """Check the secret of a change that a browser's session asks for. Raises HTTPException 403 if the secret is
    wrong."""
    if visitor.needs_secret and not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
        raise HTTPException(403, "this form belongs to another session: load the page again")


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Read the body of a request. Raises HTTPException 413 as soon as more than `most` bytes have come. Raises
    HTTPException 401 if the body was slow and the login ended before the body was complete."""
    body, began = bytearray(), time.monotonic()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"the body is larger than {most} bytes", {"connection": "close"})
    if request.scope["visitor"] is not None and time.monotonic() - began >= PROMPTLY:
        await check_login_counts(request)
    return bytes(body)


# A change that a visitor asks for, from the request to its entry in Activity.
#
#     async with noted(request, "tasks/cancel", task_id) as asked:
#         …  # everything that may refuse the change: the role, the secret of the form, its fields, the queue
#
# Every change of the forms, the API and the agent goes through here, so Activity shows refused changes, too. Requests
# of strangers get no entry: they could fill the list.

LONGEST = 2.0  # seconds after which an act in steps answers: before a proxy gives up


@asynccontextmanager
async def noted(request: Request, change: str, subject: str = "") -> AsyncGenerator[AskedChange]:
    """Write the change to Activity when it was carried out, refused or interrupted. An empty `change` only reads: no
    entry. If the store does not take the entry of a change that was made, the answer gets a header that says so."""
    asked = AskedChange(visitor_of(request).name, origin(request), partial(note, request), change, subject)
    try:
        async with notes.noted(asked, _why, (ClientDisconnect,)):
            yield asked
    finally:
        if asked.warning:
            request.scope[WARNING] = " ".join(queue_of(request).redaction.text(asked.warning).split())


async def hint(request: Request, wanted: NameFilter) -> None:
    """Add a remark to the answer: the filter has found nothing, and names a lane or handler that nobody knows."""
    access = queue_of(request)
    if line := await unknown_names(access.store, access.settings, wanted):
        request.scope[WARNING] = line


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
