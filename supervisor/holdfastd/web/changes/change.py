"""A change that a page can ask for: what a visitor gives for it, and its endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.client.manager import TaskManager
from holdfast.core.bulk_changes import BulkChange
from holdfast.errors import HoldfastError
from holdfastd.operations.act import Act, Doing, Face
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.forms import doing, noted, read_form
from holdfastd.web.queue.bulk_work import bulk_work_of
from holdfastd.web.queue.queue_access import QueueAccess, queue_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A change as it is asked for. `subject`: an id; `fields`: all of the form; `note`: as Activity will have it;
    `begun`: see Doing."""

    access: QueueAccess
    subject: str
    fields: Mapping[str, str]
    note: AskedChange
    begun: Callable[[BulkChange], object]

    @property
    def who(self) -> str:
        return self.note.who

    @property
    def doing(self) -> Doing:
        """The surroundings of an act."""
        return doing(self.access, self.note, Face.WEB, self.begun)

    @property
    def manager(self) -> TaskManager:
        return self.access.manager


ShowAgain = Callable[[Request, Mapping[str, str], HoldfastError], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PageChange:
    """`field`: of the form, names the subject; `page`: shows it afterwards, `{}` stands for its id; `call`: carries the
    change out; `again`: shows the form with its fields and the error of a refused change; None: the error alone.
    `related`: of the form, names what the subject is made of; empty: nothing."""

    path: str
    field: str
    page: str
    call: Callable[[Asked], Awaitable[object]]
    again: ShowAgain | None = None
    related: str = ""

    def page_of(self, subject: str) -> str:
        return self.page.format(quote(subject, safe=""))


def change_of(
    act: Act[Any, Any],
    page: str,
    again: ShowAgain | None = None,
    texts: Callable[[Mapping[str, str]], Mapping[str, object]] = dict,
) -> PageChange:
    """The change that a form of these arguments asks for. A field that is empty was not given, unless `texts` reads the
    form in another way."""

    async def call(asked: Asked) -> object:
        given = {name: text for name, text in texts(asked.fields).items() if text != ""}
        return await act.carry_out(asked.doing, act.read_texts(given))

    return PageChange(f"/{act.name}", act.subject, page, call, again)


def carry_out(change: PageChange) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of this change."""

    async def endpoint(request: Request) -> Response:
        fields = dict[str, str]()
        try:
            async with noted(request, change.path.removeprefix("/")) as asked:
                form = await read_form(request)
                asked.subject, asked.related = form.last(change.field), form.last(change.related)
                fields = form.allowed()
                await change.call(Asked(queue_of(request), asked.subject, fields, asked, bulk_work_of(request).start))
        except HoldfastError as error:
            if change.again is None:
                raise
            return await change.again(request, fields, error)
        return RedirectResponse(change.page_of(asked.subject), 303)

    return endpoint
