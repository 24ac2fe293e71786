"""A change that a visitor asks for, from the request to its place in Activity.

    async with noted(request, "tasks/cancel", task_id) as asked:
        …  # all that may refuse it: the role, the secret of the form, its fields, the queue

Each change of the forms, of the API and of the agent passes here, so what is refused is written down, whoever refuses
it. Requests of strangers are not: they could fill the list.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import visitor_of
from holdfastd.web.queue.activity_notes import note, origin


@dataclass(slots=True)
class AskedChange:
    """As Activity will have it. Whoever carries it out may set what was changed and what came of it; `refusal`: why not
    all of it was carried out."""

    _request: Request
    change: str
    subject: str = ""
    related: str = ""
    outcome: str = ""
    refusal: str = ""
    _is_written: bool = False

    @property
    def who(self) -> str:
        return visitor_of(self._request).name

    @property
    def origin(self) -> str:
        return origin(self._request)

    async def write(self) -> None:
        """Write it down now, as the answer comes much later. What happens afterwards is no part of the change."""
        activity = Activity(self.who, self.origin, self.change, self.subject, self.outcome, self.related)
        if self.change and not self._is_written:
            self._is_written = True
            await note(self._request, activity.refused(self.refusal) if self.refusal else activity)


@asynccontextmanager
async def noted(request: Request, change: str, subject: str = "") -> AsyncGenerator[AskedChange]:
    """Write the change down when it was carried out or refused. An empty `change` only reads: nothing is written."""
    asked = AskedChange(request, change, subject)
    try:
        yield asked
    except ClientDisconnect:  # its request has not come whole: nothing was asked for
        raise
    except Exception as error:
        asked.refusal = _why(error)
        await asked.write()
        raise
    await asked.write()


def _why(error: Exception) -> str:
    match error:
        case HTTPException():
            return str(error.detail)
        case HoldfastError():
            return str(error)
        case _:
            return "internal error: the log of the web process says more"
