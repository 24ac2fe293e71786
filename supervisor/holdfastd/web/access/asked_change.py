"""A change that a visitor asks for, from the request to its place in Activity.

    async with noted(request, "tasks/cancel", task_id) as asked:
        …  # all that may refuse it: the role, the secret of the form, its fields, the queue

Each change of the forms, of the API and of the agent passes here, so what is refused is written down, whoever refuses
it. Requests of strangers are not: they could fill the list.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from holdfast.core.bulk_changes import BulkChange
from holdfastd.operations import notes
from holdfastd.operations.act import Doing, Face, Operator, left_alone
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.forms import visitor_of
from holdfastd.web.queue.activity_notes import note, origin
from holdfastd.web.queue.queue_access import QueueAccess

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
