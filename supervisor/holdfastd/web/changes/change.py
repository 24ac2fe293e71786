"""A change that a page can ask for, and what a visitor gives for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.manager import TaskManager
from holdfast.core.bulk_changes import BulkChange
from holdfast.errors import HoldfastError
from holdfastd.operations.act import Act, Doing, Face
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.forms import doing
from holdfastd.web.queue.queue_access import QueueAccess


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
